"""Broken twins of the hidden Markov kernel: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.audit.cases.hmm import MODEL, at, audited
from discreet.audit.twins.twin import BOTH, EXACT_ONLY, Twin

if TYPE_CHECKING:
    from discreet.audit.case import Case


def not_tempered() -> Case:
    """Count records at full weight under the claim for T = 16."""
    return audited("hidden_markov_gibbs/not_tempered", at(1), at(16).guarantee, 0.5)


def states_not_paid() -> Case:
    """States drawn from the private counts too, under the price of the tables [F16 eq. 50, 51]."""
    kernel = at(1)
    tables = replace(kernel, model=replace(MODEL, states=1)).guarantee
    return audited("hidden_markov_gibbs/states_not_paid", kernel, tables, 4.0)


HMM_TWINS: dict[str, Twin] = {
    "hidden_markov_gibbs/not_tempered": Twin(
        "hidden_markov_gibbs", "T = 1 claimed as T = 16", BOTH, not_tempered
    ),
    "hidden_markov_gibbs/states_not_paid": Twin(
        "hidden_markov_gibbs", "tables paid for, states drawn for nothing", EXACT_ONLY, states_not_paid
    ),
}
