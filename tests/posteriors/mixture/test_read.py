"""Mixtures: what is refused, what a fit says, labels, and chains that disagree."""

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.models.bayes_net import BayesianNetwork
from discreet.models.mixture import Mixture
from discreet.posteriors.mixture.posterior import MixturePosterior, matching
from discreet.posteriors.mixture.read import exact, fit
from discreet.posteriors.network.read import exact as network_exact
from discreet.posteriors.tables import Disagreement
from discreet.privacy.guarantee import SUBSTITUTE
from discreet.sampling.source import SeededSource

SIZES = {"a": 2, "b": 3, "c": 2}
MIXTURE = Mixture(components=2, features=("a", "b", "c")).bind(SIZES)
WEIGHTS = np.array([0.7, 0.3])
TABLES = [
    np.array([[0.95, 0.05], [0.1, 0.9]]),
    np.array([[0.8, 0.1, 0.1], [0.05, 0.15, 0.8]]),
    np.array([[0.9, 0.1], [0.2, 0.8]]),
]
JOINT = np.einsum("k,ka,kb,kc->abc", WEIGHTS, *TABLES)


def counts(n, seed):
    return np.random.default_rng(seed).multinomial(n, JOINT.reshape(-1))


# ── the model ───────────────────────────────────────────────────────────────────────────────────────


def test_one_joint_table_of_sensitivity_two():
    assert [cells.shape for cells in MIXTURE.cells] == [(2, 3, 2)]
    assert MIXTURE.sensitivity(SUBSTITUTE).l1 == 2


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, None, "2"])
def test_a_number_of_components_must_be_given(wrong):
    with pytest.raises(ValueError, match="components=K"):
        Mixture(components=wrong, features=("a",))


def test_missing_or_strange_arguments_are_refused():
    with pytest.raises(ValueError, match="components=K"):
        Mixture(features=("a",))
    for features in ((), ("a", "a")):
        with pytest.raises(ValueError, match="features"):
            Mixture(components=2, features=features)
    with pytest.raises(ValueError, match="prior"):
        Mixture(components=2, features=("a",), prior=0)


def test_too_many_joint_cells_are_refused_and_the_way_out_is_named():
    names = tuple(f"x{i}" for i in range(13))
    with pytest.raises(ValueError, match=r"8192 joint values.*discreet\.mcmc\.mixture_gibbs"):
        Mixture(components=2, features=names).bind(dict.fromkeys(names, 2))


# ── the posterior ───────────────────────────────────────────────────────────────────────────────────


def test_one_component_is_a_product_of_dirichlets():
    # 8000 independent draws: every mean within 5 standard errors, 7 of them, chance below 5e-6.
    alone = Mixture(components=1, features=("a", "b", "c"), prior=0.5).bind(SIZES)
    data = counts(60, 1)
    posterior = exact(data, alone, source=SeededSource(1), chains=2, sweeps=4000, keep=4000)
    apart = BayesianNetwork((), nodes=("a", "b", "c"), prior=0.5).bind(SIZES)
    table = data.reshape(2, 3, 2)
    margins = np.concatenate([table.sum(axis=(1, 2)), table.sum(axis=(0, 2)), table.sum(axis=(0, 1))])
    wanted = network_exact(margins, apart)
    for name, values in posterior.pooled().tables().items():
        if name != "weights":
            error = (wanted.tables(wanted.variance())[name].values / 8000) ** 0.5
            assert (np.abs(values.values[0] - wanted.table(name).values) < 5 * error).all()
    assert (posterior.weights == 1).all()


def test_two_classes_are_found_through_noise():
    data = counts(1500, 2)
    cells = NoisyCounts(MIXTURE, n=1500, scales=(4,)).release(data, SeededSource(2))
    posterior = fit(cells, MIXTURE, chains=3, sweeps=300, keep=150)
    assert posterior.reading == "noise_aware"
    assert posterior.agreed
    assert posterior.modes == ((posterior.modes[0]),)
    order = np.argsort(-posterior.only([0]).table("weights").values)
    for c in range(3):  # every chain, under the same labels
        alone = posterior.only([c])
        assert alone.table("weights").values[order] == pytest.approx(WEIGHTS, abs=0.06)
        assert alone.table("b").values[order] == pytest.approx(TABLES[1], abs=0.1)
        low, high = alone.tables(alone.interval(0.99))["weights"].values.T
        assert ((low < alone.table("weights").values) & (alone.table("weights").values < high)).all()
    assert posterior.joint() == pytest.approx(np.stack([JOINT] * 3), abs=0.02)
    record = {"a": [0], "b": [2], "c": [1]}
    assert posterior.log_predictive(record, codes=True)[:, 0] == pytest.approx(
        np.log(posterior.joint()[:, 0, 2, 1])
    )
    assert posterior.log_likelihood(record, codes=True).shape == (3,)
    assert posterior.tables(posterior.sample(4, SeededSource(1)))["b"].values.shape == (4, 2, 3)
    assert posterior.tables(posterior.variance())["a"].shape == (2, 2)
    drawn = posterior.synthetic(2000, SeededSource(3), codes=True)
    assert np.mean(drawn["a"]) == pytest.approx(JOINT[1].sum(), abs=0.06)


def test_more_components_than_the_data_support_are_allowed_and_said():
    many = Mixture(components=6, features=("a", "b", "c")).bind(SIZES)
    data = np.zeros(12, dtype=int)
    data[0] = 12
    posterior = exact(data, many, source=SeededSource(1), chains=2, sweeps=300, keep=100)
    said = " ".join(posterior.notes)
    assert "11 of 12 joint cells show no records" in said
    assert "do not support so many" in said
    assert "do not support so many" in repr(posterior)
    assert exact(counts(4000, 3), MIXTURE, source=SeededSource(1), chains=1, sweeps=100, keep=50).notes == ()


def test_the_naive_reading_says_so():
    cells = NoisyCounts(MIXTURE, n=100, scales=(10,)).release(counts(100, 4), SeededSource(4))
    assert cells.noisy.min() < 0
    posterior = fit(cells, MIXTURE, reading="naive", chains=1, sweeps=50, keep=50)
    assert posterior.reading == "naive"
    assert (posterior.records == np.maximum(cells.noisy, 0).sum()).all()


# ── labels and disagreement ─────────────────────────────────────────────────────────────────────────


def drawn(chains):
    """Chains at given (weight, θ_a, log joint), with a little spread and labels switched at random."""
    rng = np.random.default_rng(5)
    one = Mixture(components=2, features=("a",)).bind({"a": 2})
    weights, tables, levels = [], [], []
    for weight, first, level in chains:
        order = np.array([rng.permutation(2) for _ in range(100)])
        w = np.array([weight, 1 - weight]) + rng.normal(0, 0.01, (100, 1)) * [1, -1]
        t = np.array(first) + rng.normal(0, 0.01, (100, 2))
        weights.append(np.take_along_axis(w, order, axis=1))
        tables.append(np.take_along_axis(np.stack([t, 1 - t], axis=-1), order[..., None], axis=1))
        levels.append(level + rng.normal(0, 1, 100))
    return MixturePosterior.of(
        model=one, reading="exact", weights=np.array(weights), theta=np.array(tables),
        log_joint=np.array(levels), records=np.full((len(chains), 100), 50),
    )  # fmt: skip


def test_label_switching_is_resolved_within_and_between_chains():
    posterior = drawn([(0.7, (0.9, 0.2), 0), (0.3, (0.2, 0.9), 0)])  # the second has the labels the other way
    assert posterior.agreed
    assert posterior.weights.std(axis=1).max() < 0.03  # 0.2 if labels were left to switch
    first, second = (posterior.only([c]).table("weights").values for c in (0, 1))
    assert first == pytest.approx(second, abs=0.01)
    assert posterior.pooled().weights.shape == (1, 200, 2)
    assert posterior.diagnostics.r_hat < 1.1


def test_matching_is_the_least_total_distance():
    here = np.array([0.5, 0.3, 0.2]), np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    order = matching(here, (here[0][[2, 0, 1]], here[1][[2, 0, 1]]), 1)
    assert order.tolist() == [2, 0, 1]


def test_chains_that_disagree_are_reported_and_never_averaged():
    posterior = drawn([(0.7, (0.9, 0.2), 0), (0.7, (0.5, 0.45), -2), (0.7, (0.9, 0.2), 0.5)])
    assert not posterior.agreed
    assert sorted(map(sorted, posterior.modes)) == [[0, 2], [1]]
    assert posterior.agreement[0, 2] > 0.95
    assert posterior.agreement[0, 1] < 0.85
    assert "DIFFERENT ANSWERS" in repr(posterior)
    with pytest.raises(Disagreement, match="2 different answers"):
        posterior.pooled()
    assert any("2 different answers, and the likeliest is shown" in words for words in posterior.cautions)
    group = posterior.best.pooled().theta[0].reshape(-1, 4)  # moments and draws are of that group, unmixed
    drawn_here = posterior.tables(posterior.sample(300, SeededSource(1)))["a"].values.reshape(-1, 4)
    assert {row.tobytes() for row in drawn_here} <= {row.tobytes() for row in group}
    assert posterior.table("a").values.ravel() == pytest.approx(group.mean(axis=0), rel=1e-12)
    assert posterior.best.weights.shape[0] == 2
    assert posterior.only([1]).agreed
    # the same place, but a hundred standard deviations less likely: another answer, too
    assert not drawn([(0.7, (0.9, 0.2), 0), (0.7, (0.9, 0.2), -100)]).agreed


def test_a_mixture_walks_the_whole_line(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    cells = np.random.default_rng(6).choice(12, size=400, p=JOINT.reshape(-1))
    a, b, c = np.unravel_index(cells, (2, 3, 2))
    parquet.write_table(pa.table({"a": a == 1, "b": b, "c": c == 1}), tmp_path / "t.parquet")
    table = dc.Table.open(
        tmp_path / "t.parquet", schema={"a": dc.Binary(), "b": dc.Count(max=2), "c": dc.Binary()}
    )
    ledger = dc.Ledger.open(tmp_path / "budget.db", budget=dc.PureDP(2))
    model = Mixture(components=2, features=("a", "b", "c"))
    release = dc.privatise(table, model, target=dc.PureDP(2), ledger=ledger, source=SeededSource(7))
    assert (
        np.abs(release.value.noisy.reshape(2, 3, 2) - np.bincount(cells, minlength=12).reshape(2, 3, 2)).max()
        < 12
    )
    release.save(tmp_path / "out", draws=0)
    back = dc.Release.load(tmp_path / "out")
    assert back == release
    assert back.model == MIXTURE
    assert release.posterior.reading == "noise_aware"
    assert (back.posterior.weights == release.posterior.weights).all()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Which 2 kinds of records are there?" in page
    assert "class 2" in page
