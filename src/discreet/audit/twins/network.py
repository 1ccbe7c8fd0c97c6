"""Broken twins of the network's posterior draw: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

from fractions import Fraction

from discreet.audit.case import Case
from discreet.audit.cases.network import NETWORK, network_case
from discreet.audit.twins.twin import Twins
from discreet.mechanisms.posterior.network_sample import OneNetworkSample
from discreet.models.bayes_net import BayesianNetwork
from discreet.privacy.kinds import PureDP

twin = Twins()

QUARTER = Fraction(1, 4)


@twin("one_network_sample/node_forgotten", "one node left out of the Lipschitz constant")
def node_forgotten() -> Case:
    """Δ of the root alone: the child's table is drawn at a temperature that does not pay for it."""
    root = BayesianNetwork((), nodes=("a",)).bind({"a": 2})
    paid = OneNetworkSample.calibrate(root, n=1, target=PureDP(1), truncation=QUARTER)
    broken = OneNetworkSample(NETWORK, n=1, truncation=QUARTER, temperature=paid.temperature)
    return network_case(broken, threshold=1.0)
