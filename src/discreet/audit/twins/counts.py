"""Twins of NoisyCounts, broken on purpose."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from discreet.audit.case import Case
from discreet.audit.cases.counts import NETWORK, discrete_gaussian, discrete_laplace, network_case
from discreet.audit.twins.twin import Twins
from discreet.mechanisms.posterior.network_sample import OneNetworkSample
from discreet.models.bayes_net import BayesianNetwork
from discreet.privacy.kinds import PureDP, ZeroCDP

twin = Twins()


@twin("noisy_counts/second_table_for_free", "tables of the same records counted as disjoint ones")
def second_table_for_free() -> Case:
    """Scales 4 and 8 claimed as the ε = 2/4 of the first table: but both are of the same records."""
    return replace(discrete_laplace(), claim=PureDP(0.5), epsilon=0.5)


@twin("noisy_counts/one_cell_a_table", "a substitution taken to move one cell of a table")
def one_cell_a_table() -> Case:
    """ρ = Σ 1/(2σ²), as if a substitution moved one cell of a table and not two."""
    claim = ZeroCDP(1 / 8 + 1 / 18)
    return replace(discrete_gaussian(), claim=claim)


# ── Broken twins of the network's posterior draw: BROKEN ON PURPOSE, never for use.
QUARTER = Fraction(1, 4)


@twin("one_network_sample/node_forgotten", "one node left out of the Lipschitz constant")
def node_forgotten() -> Case:
    """Δ of the root alone: the child's table is drawn at a temperature that does not pay for it."""
    root = BayesianNetwork((), nodes=("a",)).bind({"a": 2})
    paid = OneNetworkSample.calibrate(root, n=1, target=PureDP(1), truncation=QUARTER)
    broken = OneNetworkSample(NETWORK, n=1, truncation=QUARTER, temperature=paid.temperature)
    return network_case(broken, threshold=1.0)
