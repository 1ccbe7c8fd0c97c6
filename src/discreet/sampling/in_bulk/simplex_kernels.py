# mypy: disable-error-code="untyped-decorator,no-any-return,return-value"
# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
"""Kernels of the truncated Dirichlet (truncated.Simplex); error bounds as in attempts.py."""

from __future__ import annotations

import math

import numpy as np

from discreet.compiled import inlined, kernel
from discreet.sampling.in_bulk.attempts import ACCEPT, REJECT, UNSURE, log_uniform
from discreet.sampling.in_bulk.kernels import Decisions, Floats, Integers, cell, log_ratio, shares
from discreet.sampling.source import Words


@kernel
def held(
    words: Words,
    rates: Floats,
    powers: Floats,
    simplex: Floats,
    over: Floats,
    error: Floats,
    room: Floats,
    decisions: Decisions,
    u: float,
    w: float,
) -> None:
    """Propose x_j = E_j/c_j above `lower` and accept iff room > floor and ln U < M[ln t + 1 − t] + Σ k_j[…].

    simplex = (lower, R, M, floor) with t = room/R = 1 − Σx/R; error[:, −1] is the absolute error of room;
    every parameter errs by u.
    """
    lower, R, M, floor = simplex[0], simplex[1], simplex[2], simplex[3]
    count = rates.size
    for i in range(words.shape[0]):
        total, et, h, eh = 0.0, 0.0, 0.0, 0.0
        for j in range(count):
            level, el = log_uniform(words[i, j], u, w)
            x = -level / rates[j]
            ex = 1.01 * (el / rates[j] + 3.0 * u * x)
            over[i, j], error[i, j] = x, ex
            total, et = total + x, et + ex + count * u * x
            p, k = x / lower, powers[j]
            part, ep = log_ratio(p, ex / lower, u)
            if k > 0.0:
                part, ep = part - p, ep + 1.01 * ex / lower + 5.0 * u * p
            h, eh = h + k * part, eh + abs(k) * (ep + (count + 4.0) * u * (abs(part) + p))
        room[i], error[i, count] = R - total, 1.01 * (et + 3.0 * u * (R + total))
        decisions[i] = over_floor(room[i], error[i, count], floor, u)
        if decisions[i] != ACCEPT:
            continue
        q = total / R
        eq = 1.01 * (et / R + 4.0 * u * q)
        part, ep = log_ratio(-q, eq, u)
        h, eh = h + M * (part + q), eh + M * (ep + eq + 6.0 * u * (abs(part) + q)) + 4.0 * u * abs(h)
        level, el = log_uniform(words[i, count], u, w)
        gap, margin = h - level, 1.01 * (eh + el + 2.0 * u * (abs(h) - level))
        if not gap > margin:
            decisions[i] = REJECT if gap < -margin else UNSURE


@inlined
def over_floor(x: float, ex: float, floor: float, u: float) -> int:
    """Decide x > floor"""
    margin = 1.01 * ex + 3.0 * u * floor
    if x - floor > margin:
        return ACCEPT
    return REJECT if floor - x > margin else UNSURE


@kernel
def free(
    g: Floats,
    n: Integers,
    e: Floats,
    width: int,
    over: Floats,
    error: Floats,
    room: Floats,
    lower: float,
    bits: int,
    cells: Integers,
    decisions: Decisions,
    u: float,
) -> None:
    """θ_f = room·G_f/ΣG, rejected unless all exceed lower; cells of the held ones first, then of the free"""
    scale, count = math.ldexp(1.0, bits), over.shape[1]
    x, ex = np.empty(width), np.empty(width)
    for v in range(room.size):
        part = slice(v * width, (v + 1) * width)
        shares(g[part], n[part], e[part], x, ex, u)
        decisions[v] = ACCEPT
        for f in range(width):
            theta = x[f] * room[v]
            et = 1.01 * (theta * (ex[f] + 2.0 * u) + x[f] * error[v, count])
            place = over_floor(theta, et, lower, u)
            if place == REJECT:
                decisions[v] = REJECT
                break
            cells[v, count + f], rounded = cell(theta * scale, et * scale)
            if max(place, rounded) == UNSURE:
                decisions[v] = UNSURE
        for j in range(count):
            y = lower + over[v, j]
            cells[v, j], rounded = cell(y * scale, 1.01 * (error[v, j] + 3.0 * u * y) * scale)
            if rounded == UNSURE and decisions[v] == ACCEPT:
                decisions[v] = UNSURE
