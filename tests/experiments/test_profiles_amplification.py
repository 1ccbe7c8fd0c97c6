"""`discreet reproduce profiles` and `amplification`: files, reference E1, and bounds on the right side."""

import csv
import json
from pathlib import Path

import pytest

from discreet.experiments.registry import EXPERIMENTS

E1 = json.loads((Path(__file__).parents[1] / "reference" / "E1_bernoulli_profiles.json").read_text())


def table(folder, name):
    with (folder / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Run an experiment once, quickly."""
    seen = {}

    def once(name):
        if name not in seen:
            folder = tmp_path_factory.mktemp(name)
            seen[name] = folder, EXPERIMENTS[name](folder, 0, quick=True)
        return seen[name]

    return once


@pytest.mark.parametrize(("name", "count"), [("profiles", 8), ("amplification", 3)])
def test_every_file_is_written_and_every_picture_is_one(drawn, name, count):
    folder, written = drawn(name)
    assert sorted(written) == sorted(folder.iterdir())
    pictures = [path for path in written if path.suffix == ".png"]
    assert len(pictures) == count
    for path in pictures:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 10_000


def test_flips_of_two_profiles_are_reference_E1(drawn):
    """Closed form with positive parts; ours is rounded up to a multiple of 2^-53."""
    folder = drawn("profiles")[0]
    known = {tuple(row[:3]): row[3] for row in E1["two_profile"]["rows"]}
    rows = [
        (float(r["p_i"]), float(r["p_j"]), float(r["epsilon"]), float(r["flip"]))
        for r in table(folder, "couplet")
    ]
    shared = [(row[3], known[row[:3]]) for row in rows if row[:3] in known]
    assert len(shared) >= 8
    for ours, theirs in shared:
        assert ours == pytest.approx(theirs, abs=1e-12)
    assert all(float(r["flip"]) <= float(r["randomised_response"]) for r in table(folder, "couplet"))


def test_flips_of_the_chain_are_reference_E1(drawn):
    """Solver values to 1e-7, as the reference was solved too; closed forms to 1e-12."""
    found = {float(r["epsilon"]): r for r in table(drawn("profiles")[0], "chain-6")}
    for name, theirs in E1["chains"]["Bernoulli-Chain-6"].items():
        ours = found.get(float(name.removeprefix("eps=")))
        if ours is not None:
            assert float(ours["smooth_max"]) == pytest.approx(theirs["smooth_max_alpha"], abs=1e-7)
            assert float(ours["smooth_mean"]) == pytest.approx(theirs["mean_alpha"]["minsum"], abs=1e-7)
            assert float(ours["cluster"]) == pytest.approx(theirs["one_bit_cluster_alpha"], abs=1e-12)
            assert float(ours["randomised_response"]) == pytest.approx(
                theirs["randomized_response_alpha"], abs=1e-12
            )
    assert set(found) <= {float(name.removeprefix("eps=")) for name in E1["chains"]["Bernoulli-Chain-6"]}


E2 = json.loads((Path(__file__).parents[1] / "reference" / "E2_categorical_profiles.json").read_text())


def test_figures_7_3_and_7_4_are_reference_E2():
    """Costs of k-ary randomised response to 1e-12; the least largest entry, which is unique, to 1e-7."""
    from discreet.experiments.profiles.captions import RECONSTRUCTED, costs, kary_outputs
    from discreet.mechanisms.local.profile_categorical import LARGEST_ERROR, SmoothCategorical
    from discreet.privacy.profile_graph import ProfileGraph

    assert E2["chainA"]["profiles"] == [list(law) for law in RECONSTRUCTED]
    for epsilon in (0.1, 0.5, 1.0):
        known = E2["chainA"][f"eps={epsilon:g}"]
        ours = costs(RECONSTRUCTED, kary_outputs(epsilon))
        assert ours == pytest.approx(known["kRR"]["cost_j_eq7.9"], abs=1e-12)
        assert max(ours) - min(ours) < 1e-15  # the caption: all four curves overlap
        made = SmoothCategorical.solve(ProfileGraph.chain(RECONSTRUCTED), epsilon, objective=LARGEST_ERROR)
        largest = max(
            made.kernels.matrix(i)[j, k] for i in range(3) for j in range(4) for k in range(4) if j != k
        )
        assert largest == pytest.approx(known["minimax"]["max_offdiag"], abs=1e-7)


@pytest.mark.parametrize(
    ("name", "profiles", "spread"),
    [("7.5", 6, 0.0997), ("7.6", 21, 0.0997), ("7.7", 6, 0.3965), ("7.8", 21, 0.8161)],
)
def test_spread_of_the_outputs_at_the_line(drawn, name, profiles, spread):
    """At ε = 0.2: (e^ε − 1)/(e^ε + 1) under randomised response; the programs' values to four digits."""
    rows = {float(r["epsilon"]): r for r in table(drawn(f"figure-{name}")[0], f"figure-{name}")}
    row = rows[0.2]
    assert float(row[f"profile_{profiles - 1}"]) - float(row["profile_0"]) == pytest.approx(spread, abs=5e-5)


def test_each_objective_is_best_at_what_it_asks_for(drawn):
    """And none changes as much as hiding the value itself would."""
    rows = table(drawn("profiles")[0], "usage")
    for epsilon in {r["epsilon"] for r in rows}:
        here = {r["objective"]: r for r in rows if r["epsilon"] == epsilon}
        mean = {name: float(r["mean_changed"]) for name, r in here.items()}
        assert mean["expected corruption"] <= min(mean.values()) + 1e-7
        assert (
            max(m for name, m in mean.items() if not name.startswith("k-ary"))
            < mean["k-ary randomised response"]
        )


def test_our_bounds_lie_between_the_truth_and_what_was_published(drawn):
    """The truth is known for linear maps, where ours is it, rounded up."""
    folder = drawn("amplification")[0]
    for row in table(folder, "amplification-iteration"):
        ours, truth, published = (float(row[c]) for c in ("ours", "truth_of_linear_maps", "published"))
        assert truth * (1 - 1e-15) <= ours <= published * (1 + 1e-15)
        assert ours == pytest.approx(truth, rel=1e-9)
    places = table(folder, "amplification-sgd")
    assert len(places) == 200
    for row in places:
        assert float(row["ours"]) <= float(row["published"]) * (1 + 1e-15)


def test_the_trainer_is_measured_beside_everything_it_is_compared_with(drawn):
    """One run of each here; 20 in the full picture. Public steps are far ahead: 5 points at least."""
    found = {
        r["method"]: float(r["test_error"]) for r in table(drawn("amplification")[0], "amplification-trainer")
    }
    assert found["not private"] == min(found.values())
    assert found["not private"] < 0.19
    assert len(found) == 6
    assert found["5 epochs, then 500 public steps"] < found["5 epochs, every step accounted"]
