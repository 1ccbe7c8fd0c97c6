"""Broken twins of the hidden Markov kernel: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

from dataclasses import replace

from discreet.audit.case import Case
from discreet.audit.cases.hmm import MODEL, at, audited
from discreet.audit.twins.twin import EXACT_ONLY, Twins

twin = Twins()


@twin("hidden_markov_gibbs/not_tempered", "T = 1 claimed as T = 16")
def not_tempered() -> Case:
    """Count records at full weight under the claim for T = 16."""
    return audited(at(1), at(16).guarantee, 0.5)


@twin("hidden_markov_gibbs/states_not_paid", "tables paid for, states drawn for nothing", EXACT_ONLY)
def states_not_paid() -> Case:
    """States drawn from the private counts too, under the price of the tables [F16 eq. 50, 51]."""
    kernel = at(1)
    tables = replace(kernel, model=replace(MODEL, states=1)).guarantee
    return audited(kernel, tables, 4.0)
