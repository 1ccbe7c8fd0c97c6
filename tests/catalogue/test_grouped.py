"""A posterior per group for one charge: at which price, in whose words, read as each group alone would be."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.report import report

SCHEMA = {
    "ward": dc.Categories(["A", "B", "C"], unknown="A"),
    "sex": dc.Categories(["f", "m"], unknown="f"),
    "smoker": dc.Binary(),
    "age": dc.Bounded(0, 100),
}
WARDS = dc.Grouped(dc.BetaBernoulli(1, 1), by="ward")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    ward = rng.choice(["A", "B"], 400)  # nobody in C
    frame = pd.DataFrame(
        {
            "ward": ward,
            "sex": rng.choice(["f", "m"], 400),
            "smoker": rng.random(400) < np.where(ward == "A", 0.2, 0.7),
            "age": rng.normal(50, 12, 400),
        }
    )
    return dc.Table.open(frame, schema=SCHEMA)


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory):
    home = tmp_path_factory.mktemp("grouped")
    opened = {
        relation: dc.Ledger.open(
            home / f"{relation.value}.db", budget=dc.ApproxDP(100, 1e-3, relation=relation)
        )
        for relation in (dc.SUBSTITUTE, dc.ADD_REMOVE)
    }
    yield opened
    for ledger in opened.values():
        ledger.close()


@pytest.fixture(scope="module")
def release(table, ledgers):
    def made(model, relation=dc.SUBSTITUTE, column="smoker", **more):
        ask = {"source": dc.SeededSource(5), **(more or {"epsilon": 1, "relation": relation})}
        return dc.privatise(table[column], model, ledger=ledgers[relation], **ask)

    return made


# What a record moves: one block by 1; two blocks by 1 each.
@pytest.mark.parametrize(
    ("model", "relation", "scale"),
    [(WARDS, dc.ADD_REMOVE, 1), (WARDS, dc.SUBSTITUTE, 2)],
    ids=["add_remove", "substitute"],
)
def test_one_charge_for_all_groups_at_the_price_of_those_a_record_moves(
    release, ledgers, model, relation, scale
):
    before = len(ledgers[relation].history())
    made = release(model, relation)
    assert made.guarantee == dc.PureDP(1, relation=relation)
    assert dict(made.parameters)["scale"] == scale
    charges = [entry for entry in ledgers[relation].history()[before:] if entry.kind == "charge"]
    assert len(charges) == 1
    assert dc.Release.from_body(made.body) == made


def test_gaussian_noise_pays_root_two_for_a_record_that_may_move(release):
    either, moved = (
        dict(release(WARDS, relation, target=target, noise="gaussian").parameters)["scale"]
        for relation in (dc.ADD_REMOVE, dc.SUBSTITUTE)
        for target in [dc.ApproxDP(1, Fraction(1, 10**6), relation=relation)]
    )
    assert moved / either == pytest.approx(np.sqrt(2), rel=1e-6)


def test_groups_are_read_as_each_would_be_alone(release):
    made = release(WARDS)
    posterior = made.posterior
    for i, ward in enumerate("ABC"):
        alone = made.value.part(i).read()
        assert posterior.group(ward).flat_interval(0.9) == pytest.approx(alone.flat_interval(0.9))
        assert posterior.names[i] == f"p | ward = {ward}"
    table = posterior.by_group(posterior.interval(0.8))
    assert table.dims == ("parameter", "ward", "bound")
    low, high = table.sel(parameter="p", ward="B").to_numpy()
    assert 0.6 < low < high < 0.8
    with pytest.raises(ValueError, match="levels A, B, C"):
        posterior.group("D")
    again = made.read(model=dc.BetaBernoulli(50, 50))
    assert abs(again.flat_mean()[0] - 0.5) < abs(posterior.flat_mean()[0] - 0.5)


def test_two_keys_and_two_parameters_have_their_places(release):
    model = dc.Grouped(
        dc.NormalInverseGamma(50, 1, shape=3, scale=300, lower=0, upper=100), by=("ward", "sex")
    )
    posterior = release(model, column="age", epsilon=20).read(reading="naive")  # quick
    means = posterior.by_group()
    assert means.dims == ("parameter", "ward", "sex")
    for ward, sex in (("A", "m"), ("B", "f")):
        own = posterior.group(ward, sex).flat_mean()
        assert means.sel(ward=ward, sex=sex).to_numpy() == pytest.approx(own)
    drawn = posterior.variables(5)
    assert drawn["mean"].dims[2:4] == ("ward", "sex")
    assert posterior.sample(4).shape == (4, 12)


def test_the_certificate_and_the_page_say_what_groups_are_promised(release):
    said = release(WARDS).certificate()
    assert any("in each of 3 groups by ward" in words for words in said["assumed_public"])
    assert "ward = B" in report(release(WARDS))


def test_the_command_groups(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"ward": list("ABC") * 20, "smoker": [0, 1, 1] * 20}).to_parquet("rows.parquet")
    schema = dc.Schema({name: SCHEMA[name] for name in ("ward", "smoker")})
    (tmp_path / "s.toml").write_text(schema.to_toml())
    job = ["rows.parquet", "--schema", "s.toml", "--column", "smoker", "--by", "ward"]
    model = ["--model", "beta_bernoulli", "--target", "pure:1"]
    for command in (
        ["ledger", "init", "b.db", "--budget", "pure:3"],
        ["fit", *job, *model, "--ledger", "b.db", "--out", "out"],
        ["plan", *job[1:], *model, "--n", "60", "--replicates", "16"],
    ):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, (command, done.output)
    assert "in one of 3 groups, of 20 records" in " ".join(done.output.split())
    assert dc.Release.load("out").posterior.names == tuple(f"p | ward = {ward}" for ward in "ABC")
