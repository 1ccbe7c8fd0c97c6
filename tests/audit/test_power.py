"""How much tier 2 can see, from exact binomial probabilities, and what the report prints."""

import math

import numpy as np
import pytest
from scipy.special import betaincinv
from scipy.stats import binom

from discreet.audit.case import LEVEL, RUNS, Case, empirical, lower_probability, upper_probability
from discreet.audit.exact_profiles import shifted_laplace
from discreet.audit.registry import find, format_table, run
from discreet.mechanisms.noise.laplace import Laplace
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SeededSource


def power(p, q, epsilon):
    """P(lower(H) > e^ε upper(M)) for independent H ~ Bin(RUNS, p), M ~ Bin(RUNS, q), summed exactly."""
    hits = np.arange(*(int(RUNS * p + k * math.sqrt(RUNS * p)) for k in (-9, 9)))
    misses = np.arange(*(int(RUNS * q + k * math.sqrt(RUNS * q)) for k in (-9, 9)))
    low = betaincinv(hits, RUNS - hits + 1, LEVEL / 2)
    high = 1 - betaincinv(RUNS - misses, misses + 1, LEVEL / 2)
    needed = np.searchsorted(low, math.exp(epsilon) * high, side="right")
    tail = np.append(binom.sf(hits - 1, RUNS, p), 0)
    return float((binom.pmf(misses, RUNS, q) * tail[needed]).sum())


def understated(share):
    """Laplace noise of ε = 1/share under the claim ε = 1, attacked with the half-line beyond the shift."""
    true = 1 / share
    noise = Laplace(1, share)
    return Case(PureDP(1), noise.releases, (1, 0), lambda y: y >= 1, shifted_laplace(true))


def test_a_pure_epsilon_understated_by_5_percent_is_refuted_with_power_above_95_percent():
    # ε = 1/0.95 under the claim 1: P(E) = ½, Q(E) = e^{−ε}/2; docs/theory.md §6 says 0.96.
    assert power(0.5, math.exp(-1 / 0.95) / 2, 1.0) == pytest.approx(0.966, abs=1e-3)
    assert empirical(understated(0.95), SeededSource(3)).refuted


def test_a_true_claim_is_refuted_far_more_rarely_than_the_level_allows():
    assert power(0.5, math.exp(-1) / 2, 1.0) < LEVEL
    assert not empirical(understated(1.0), SeededSource(3)).refuted


def test_randomised_response_has_more_power_than_laplace():
    true = 1 / 0.95
    keep = math.exp(true) / (1 + math.exp(true))
    assert power(keep, 1 - keep, 1.0) > 0.9999


def test_clopper_pearson_bounds_invert_the_binomial_tails():
    for hits in (1, 17, 500, 999):
        assert binom.sf(hits - 1, 1000, lower_probability(hits, 1000, 1e-4)) == pytest.approx(1e-4, rel=1e-6)
        assert binom.cdf(hits, 1000, upper_probability(hits, 1000, 1e-4)) == pytest.approx(1e-4, rel=1e-6)
    assert lower_probability(0, 1000, 1e-4) == 0
    assert upper_probability(1000, 1000, 1e-4) == 1


def test_report_runs_by_name_and_prints_one_line_each():
    names = ["randomized_response", "kary_randomized_response/binary_keep"]
    verdicts = run(names, SeededSource(4), runs=20_000)
    assert [v.refuted for v in verdicts] == [False, True]
    title, honest, broken = format_table(verdicts).splitlines()
    assert title.split()[0] == "audit"
    assert honest.split()[::5] == [names[0], "holds"]
    assert broken.split()[::5] == [names[1], "REFUTED"]


def test_an_unknown_audit_names_the_known_ones():
    with pytest.raises(ValueError, match="randomized_response"):
        find("nonsense")
