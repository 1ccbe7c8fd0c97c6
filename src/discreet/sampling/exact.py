"""Exact draws: the ideal real draw rounded to a public grid, so proofs over the reals hold with no slack.

Parameters stand for the rationals they are (int, float, Fraction). `bits` names the grid 2^-bits of [0, 1].
"""

from __future__ import annotations

import math
from fractions import Fraction
from types import ModuleType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.arithmetic.ball import Exact
from discreet.sampling import checked_arguments as given
from discreet.sampling import discrete, ideal, singles
from discreet.sampling.checked_arguments import Numbers, Rows
from discreet.sampling.in_bulk import continuous as bulk
from discreet.sampling.in_bulk.batches import FEW, FINEST, LARGEST_SHAPE, Shapes
from discreet.sampling.source import Source, Tape
from discreet.sampling.truncated import FRIENDLY, Window, simplex_of
from discreet.sampling.truncated_gamma import GammaWindow

LEAST = Fraction(1, 2**900)
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]


def beta(source: Source, a: Exact, b: Exact, size: int, bits: int = 32) -> Floats:
    """Draw x ~ Beta(a, b) to the nearest multiple of 2^-bits"""
    shapes = Shapes.of([given.positive_exact(a, "a"), given.positive_exact(b, "b")], "shapes")
    size, bits = given.check_size(size), given.check_bits(bits)
    sampler = _sampler(2 * size, fine=bits > FINEST or not shapes.ordinary)
    cells: Integers = sampler.beta(source, shapes, size, bits)
    return np.ldexp(cells.astype(np.float64), -bits)


def truncated_beta(  # noqa: PLR0917 (the order of scipy and of the mathematics)
    source: Source, a: Exact, b: Exact, lower: Exact, upper: Exact, size: int, bits: int = 32
) -> Floats:
    """Draw x ~ Beta(a, b) given lower ≤ x ≤ upper, to the nearest multiple of 2^-bits, clipped to both."""
    window = Window(
        given.positive_exact(a, "a"),
        given.positive_exact(b, "b"),
        given.exact(lower, "lower"),
        given.exact(upper, "upper"),
    )
    if not 0 <= window.lower < window.upper <= 1:
        raise ValueError(f"truncation needs 0 ≤ lower < upper ≤ 1, got [{lower}, {upper}]")
    size, bits = given.check_size(size), given.check_bits(bits)
    fine = bits > FINEST or max(window.a, window.b) > LARGEST_SHAPE
    cells = _sampler(size, fine=fine).truncated_beta(source, window, size, bits)
    return given.within(np.ldexp(cells.astype(np.float64), -bits), window.lower, window.upper)


def gamma(source: Source, shape: Exact | Numbers, size: int, rate: Exact = 1) -> Floats:
    """Draw G/rate, G ~ Gamma(shape), to 24 significant bits (0 below 2^-1000); k shapes give (size, k)."""
    scalar = np.ndim(np.asarray(shape, dtype=object)) == 0
    shapes = Shapes.of([shape] if scalar else shape, "shape")  # type: ignore[arg-type, list-item]
    size, pace = given.check_size(size), given.positive_exact(rate, "rate")
    sampler = _sampler(size * shapes.doubles.size, fine=not shapes.ordinary)
    draws: Floats = sampler.gamma(source, shapes, size, pace)
    return draws if scalar else draws.reshape(size, shapes.doubles.size)


def truncated_gamma(source: Source, shape: Exact, rate: Exact, upper: Exact, size: int) -> Floats:
    """Draw x ~ Gamma(shape, rate) given x ≤ upper, to 24 significant bits, every one of them ≤ upper."""
    window = GammaWindow(
        given.positive_exact(shape, "shape"),
        given.positive_exact(rate, "rate"),
        given.positive_exact(upper, "upper"),
    )
    if not LEAST <= window.upper <= 1 / LEAST:
        raise ValueError("upper must lie between 2^-900 and 2^900")
    size = given.check_size(size)
    found = np.empty(0)
    while found.size < size:  # a draw whose cell reaches beyond the bound is drawn again
        held = (
            singles.below(source, window, size - found.size)
            if window.share() <= FRIENDLY
            else gamma(source, window.shape, max(size - found.size, 1), window.rate)
        )
        found = np.concatenate((found, held[held <= window.largest]))
    return found


def dirichlet(source: Source, alpha: Numbers, size: int, bits: int = 32) -> Floats:
    """θ ~ Dirichlet(α), every coordinate to the nearest multiple of 2^-bits; shape (size, d)"""
    shapes = _concentration(alpha)
    size, bits, d = given.check_size(size), given.check_bits(bits), shapes.doubles.size
    sampler = _sampler(size * d, fine=bits > FINEST or not shapes.ordinary)
    cells: Integers = sampler.dirichlet(source, shapes, size, bits)
    return np.ldexp(cells.astype(np.float64), -bits).reshape(size, d)


def truncated_dirichlet(source: Source, alpha: Numbers, lower: Exact, size: int, bits: int = 32) -> Floats:
    """θ ~ Dirichlet(α) given min θ ≥ lower, to the nearest multiples of 2^-bits within those bounds"""
    shapes, least = _concentration(alpha), given.exact(lower, "lower")
    size, bits, d = given.check_size(size), given.check_bits(bits), shapes.doubles.size
    if not 0 <= least * d < 1:
        raise ValueError(f"lower must lie in [0, 1/{d}) for {d} categories, got {lower}")
    if least == 0:
        return dirichlet(source, alpha, size, bits)
    if d == 2:
        first = truncated_beta(source, shapes[0], shapes[1], least, 1 - least, size, bits)
        return given.within_simplex(np.stack((first, 1 - first), axis=1), least, d)
    simplex = simplex_of([shapes[i] for i in range(d)], least)
    sampler = _sampler(size * d, fine=bits > FINEST or not shapes.ordinary or singles.hopeless(simplex))
    cells: Integers = sampler.truncated_dirichlet(source, simplex, size, bits)
    return given.within_simplex(np.ldexp(cells.astype(np.float64), -bits), least, d).reshape(size, d)


def normal(source: Source, mean: Exact, variance: Exact, size: int, grid: Exact) -> Floats:
    """Draw m + σz to the nearest multiple of the public grid (a power of two)"""
    centre, spread = given.exact(mean, "mean"), given.positive_exact(variance, "variance")
    size, step = given.check_size(size), given.dyadic_grid(grid)
    scaled = spread / step**2
    sampler = _sampler(size, fine=scaled > 4**FINEST)
    return given.on_grid(sampler.normal(source, centre / step, scaled, size), step)


def normal_inverse_gamma(  # noqa: PLR0917
    source: Source, mean: Exact, strength: Exact, shape: Exact, scale: Exact, size: int, grid: Exact
) -> tuple[Floats, Floats]:
    """σ² ~ InvGamma(shape, scale), μ|σ² ~ N(mean, σ²/strength); the pair is rounded jointly, σ² to 24 bits"""
    locations, variances = regression(source, [mean], [[strength]], shape, scale, size, grid)
    return locations[:, 0], variances


def regression(  # noqa: PLR0917
    source: Source,
    mean: Numbers,
    precision: Rows,
    shape: Exact,
    scale: Exact,
    size: int,
    grid: Exact,
) -> tuple[Floats, Floats]:
    """σ² ~ InvGamma(shape, scale), β|σ² ~ N(mean, σ²Λ⁻¹) with precision Λ; rounded jointly, σ² to 24 bits"""
    centre, inverse = tuple(given.exact_vector(mean, "mean")), given.symmetric(precision, "precision")
    a, b = given.positive_exact(shape, "shape"), given.positive_exact(scale, "scale")
    size, step = given.check_size(size), given.dyadic_grid(grid)
    given.check_dimension(len(centre), len(inverse))
    law = ideal.ExactNormalInverseGamma(centre, ideal.cholesky(inverse), a, b, step)
    sampler = _sampler(size * (1 + len(centre)), fine=a > LARGEST_SHAPE)
    cells, variances = sampler.normal_inverse_gamma(source, law, size)
    return given.on_grid(cells, step).reshape(size, len(centre)), variances


def inverse_wishart(source: Source, degrees: Exact, scale: Rows, size: int, bits: int = 32) -> Floats:
    """Σ ~ InvWishart(degrees, scale) with mean scale/(degrees − d − 1); rounding as in ideal.py"""
    matrix = given.symmetric(scale, "scale")
    nu = _degrees(degrees, len(matrix))
    size, bits = given.check_size(size), given.check_bits(bits)
    tape, root, n = Tape(source), ideal.cholesky(matrix), len(matrix)
    draws = [ideal.inverse_wishart(tape, nu, root, n, bits) for _ in range(size)]
    return np.array(draws, dtype=np.float64).reshape(size, n, n)


def normal_inverse_wishart(  # noqa: PLR0917
    source: Source,
    mean: Numbers,
    strength: Exact,
    degrees: Exact,
    scale: Rows,
    size: int,
    grid: Exact,
    bits: int = 32,
) -> tuple[Floats, Floats]:
    """Σ ~ InvWishart(degrees, scale), μ|Σ ~ N(mean, Σ/strength); (μ, Σ) rounded jointly"""
    centre, matrix = tuple(given.exact_vector(mean, "mean")), given.symmetric(scale, "scale")
    kappa, nu = given.positive_exact(strength, "strength"), _degrees(degrees, len(matrix))
    size, bits, step = given.check_size(size), given.check_bits(bits), given.dyadic_grid(grid)
    given.check_dimension(len(centre), len(matrix))
    tape, root, n = Tape(source), ideal.cholesky(matrix), len(matrix)
    pairs = [ideal.normal_inverse_wishart(tape, centre, kappa, nu, root, step, bits) for _ in range(size)]
    locations = given.on_grid(given.integers([k for location, _ in pairs for k in location]), step)
    spreads = np.array([s for _, s in pairs], dtype=np.float64)
    return locations.reshape(size, n), spreads.reshape(size, n, n)


def discrete_laplace(source: Source, scale: Exact, size: int) -> Integers:
    """P(x) ∝ exp(−|x|/scale) on the integers, scale ≤ 10¹²"""
    width = given.positive_exact(scale, "scale")
    if width > discrete.LARGEST_SCALE:
        raise ValueError("scale must be at most 10¹² so that draws fit int64; coarsen the statistic's grid")
    return discrete.laplace(source, width, given.check_size(size))


def discrete_gaussian(source: Source, variance: Exact, size: int) -> Integers:
    """P(x) ∝ exp(−x²/(2·variance)) on the integers, variance ≤ 10²⁴"""
    spread = given.positive_exact(variance, "variance")
    if spread > discrete.LARGEST_SCALE**2:
        raise ValueError(
            "variance must be at most 10²⁴ so that draws fit int64; coarsen the statistic's grid"
        )
    return discrete.gaussian(source, spread, given.check_size(size))


def bernoulli(source: Source, p: Exact, size: int) -> NDArray[np.bool_]:
    """P(1) = p"""
    chance = given.exact(p, "p")
    if not 0 <= chance <= 1:
        raise ValueError("p must lie in [0, 1]")
    return discrete.bernoulli(source, chance, given.check_size(size))


def bernoulli_exp(source: Source, gamma: Exact, size: int) -> NDArray[np.bool_]:
    """P(1) = exp(−gamma)"""
    exponent = given.exact(gamma, "gamma")
    if not exponent >= 0:
        raise ValueError("gamma must be at least 0: exp(−gamma) is a probability")
    return discrete.bernoulli_exp(source, exponent, given.check_size(size))


def uniform_integers(source: Source, upper: int, size: int) -> Integers:
    """Uniform on {0, …, upper − 1}"""
    bound = given.exact(upper, "upper")
    if bound.denominator != 1 or not 1 <= bound <= 2**63:
        raise ValueError(f"upper must be an integer in [1, 2⁶³], got {upper!r}")
    return discrete.uniform_integers(source, int(bound), given.check_size(size))


def categorical(source: Source, log_weights: Numbers, size: int) -> Integers:
    """P(j) ∝ exp(log_weights[j]); −inf is a category that never occurs"""
    weights = [
        None if w == -math.inf else given.exact(w, "every log weight")
        for w in np.asarray(log_weights, dtype=object).ravel()
    ]
    if all(w is None for w in weights):
        raise ValueError("log_weights must hold at least one finite entry")
    return discrete.categorical(source, weights, given.check_size(size))


def _sampler(draws: int, *, fine: bool) -> ModuleType:
    """Kernels pay off for many draws and have room for ordinary grids only; the law is the same."""
    return singles if fine or draws <= FEW else bulk


def _concentration(alpha: Numbers) -> Shapes:
    shapes = Shapes.of(alpha, "alpha")
    if shapes.doubles.size < 2:
        raise ValueError("alpha needs at least two categories: with one, θ = 1 holds no information")
    return shapes


def _degrees(degrees: Exact, n: int) -> Fraction:
    nu = given.exact(degrees, "degrees")
    if not nu > n - 1:
        raise ValueError(f"degrees must exceed dimension − 1 = {n - 1}")
    return nu
