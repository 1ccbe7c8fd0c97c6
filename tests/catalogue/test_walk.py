"""Every row of the catalogue walks the whole line on a real table; a hole is a failure, not a skip."""

import json
import warnings
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.audit.case import empirical
from discreet.audit.registry import CASES
from discreet.catalogue import ROWS, resolve
from discreet.cli import app
from discreet.cli.typed.job import Job, any_model_of
from discreet.mechanisms.registry import single_draws
from discreet.report import report

COPIES = 10  # of the example's records
OPTIONS = {"one_posterior_sample": {"truncation": 0.05}, "one_network_sample": {"truncation": 0.05}}
# Mechanisms without a knob, or with a weak one, meet only weak targets on so few records.
EASY = {"direct": dc.ApproxDP(2000, 1e-2), "one_posterior_sample": dc.ApproxDP(50, 1e-6)}
every_row = pytest.mark.parametrize("name", ROWS)
every_mechanism = pytest.mark.parametrize(
    ("name", "typed"), [(name, typed) for name, row in ROWS.items() for typed in row.mechanisms]
)


def plain(value):
    """Lists as the job file has them become what constructors take."""
    return tuple(plain(part) for part in value) if isinstance(value, list) else value


@cache
def model_of(name):
    row = ROWS[name]
    if row.kind == "family":
        return row.load("model")(**row.examples[0].prior)
    prior = {key: plain(value) for key, value in row.examples[0].prior.items()}
    return any_model_of(Job(model=name, prior=prior), None)


@cache
def frame_of(name):
    example = ROWS[name].examples[0]
    return pd.DataFrame(list(example.rows) * COPIES, columns=list(example.columns))


def schema_of(name):
    return dc.Schema.from_dict({"columns": ROWS[name].examples[0].columns})


def table_of(name):
    table = dc.Table.open(frame_of(name), schema=schema_of(name))
    return table[tuple(ROWS[name].examples[0].columns)] if ROWS[name].kind == "family" else table


def relation_of(name):
    """The number of records is public under the usual relation, and no question then."""
    return dc.ADD_REMOVE if name == "record_count" else dc.SUBSTITUTE


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    home = tmp_path_factory.mktemp("walk")
    opened = {
        relation: dc.Ledger.open(
            home / f"{relation.value}.db", budget=dc.ApproxDP(1e6, 0.5, relation=relation)
        )
        for relation in (dc.SUBSTITUTE, dc.ADD_REMOVE)
    }
    yield opened
    for each in opened.values():
        each.close()


def options_of(name, typed):
    return {} if ROWS[name].kind == "regression" else OPTIONS.get(typed, {})


@pytest.fixture(scope="module")
def released(ledger):
    """Release once by name and mechanism: all tests read the same."""

    @cache
    def release(name, typed):
        relation = relation_of(name)
        target = EASY.get(typed, dc.ApproxDP(4, 1e-6, relation=relation))
        ask = {"mechanism": typed, "target": target, "ledger": ledger[relation], "source": dc.SeededSource(1)}
        return dc.privatise(table_of(name), model_of(name), **ask, **options_of(name, typed))

    return release


def homes(row):
    """All that a row names, as "module:name"."""
    maps = (row.statistic, row.reader, row.report)
    single = (row.model, row.planner, row.parts, row.binder, row.record_law, row.simulator)
    return [home for home in (*single, *(home for one in maps for home in one.values())) if home]


@every_row
def test_everything_that_a_row_names_is_there(name):
    row = ROWS[name]
    assert row.load("model").name == name
    assert all(callable(resolve(home)) for home in homes(row))
    assert row.load("statistic", "nonsense") is None
    if row.kind == "family":
        assert {"findings", "subject", "predictive"} == set(row.report)
        assert "theta" not in row.parameters


@every_row
def test_the_schema_fits_the_example(name):
    for example in ROWS[name].examples:
        written = dc.Schema.from_dict({"columns": example.columns})
        assert dc.Schema.from_toml(written.to_toml()) == written
        assert all(len(row) == len(example.columns) for row in example.rows)


@every_row
def test_a_plan_compares_every_mechanism_or_says_why_not(name):
    row, model = ROWS[name], model_of(name)
    if row.binder:
        model = row.load("binder")(table_of(name), model)[1]
    few = {"family": {"simulations": 16}, "groups": {"simulations": 16}}.get(row.kind, {"replicates": 1})
    target = dc.ApproxDP(4, 1e-6, relation=relation_of(name))
    plan = dc.plan(model, COPIES * len(row.examples[0].rows), target, **few)
    compared = {one.name.partition(" (")[0] for one in plan.rows}
    refused = {one.name.partition(" (")[0]: one.reason for one in plan.refused}
    assert next(iter(row.mechanisms)) in compared  # the default
    if row.kind == "counts":  # plans of counts compare kinds of noise
        return
    assert compared | set(refused) >= set(row.mechanisms)
    for typed, reason in row.cannot.items():
        assert reason in refused[typed]
    assert plan.table()


@every_mechanism
def test_a_release_is_read_saved_loaded_and_shown_or_the_row_says_why_not(released, tmp_path, name, typed):
    row = ROWS[name]
    if typed in row.cannot:
        with pytest.raises((dc.NotProved, ValueError), match=r".") as refused:
            released(name, typed)
        assert row.cannot[typed] in str(refused.value)
        return
    release = released(name, typed)
    assert release.mechanism == row.mechanisms[typed]
    for reading in ("draws",) if release.reading == "draws" else ("noise_aware", "naive"):
        check_posterior(release.read(reading=reading), reading)
    assert dc.Release.load(release.save(tmp_path / "saved", draws=4)) == release
    page = report(release)
    assert page.startswith("<!doctype html>")
    assert all(f'id="{section}"' in page for section in ("result", "intervals", "privacy", "certificate"))


def check_posterior(posterior, reading):
    assert posterior.names
    assert len(posterior.summary())
    assert isinstance(posterior.cautions, tuple)
    if reading != "draws":
        assert posterior.interval(0.9).shape[-1] == 2
        assert len(posterior.sample(3)) == 3


@every_mechanism
def test_labelled_rows_are_predicted_with_labels_or_the_row_says_why_not(released, name, typed):
    row = ROWS[name]
    if typed in row.cannot:
        return
    posterior, frame = released(name, typed).posterior, frame_of(name)
    assert list(posterior.summary()["name"]) == list(posterior.names)
    assert row.predicted or row.unpredicted
    if row.unpredicted:
        for ask in (posterior.predict, posterior.predict_proba):
            with pytest.raises(TypeError) as refused:
                ask(frame)
            assert str(refused.value) == row.unpredicted
        return
    asked = {"target": "b"} if name == "bayesian_network" else {}
    said = posterior.predict(frame, **asked)
    assert len(said) == len(frame)
    assert (posterior.predict(frame.to_dict("records"), **asked) == said).all()
    with pytest.raises(TypeError, match="codes=True"):
        posterior.predict(frame.to_numpy(), **asked)
    if name == "generalized_linear":
        assert (said > 0).all()
        return
    shares = posterior.predict_proba(frame, **asked)
    assert shares.sum(shares.dims[-1]).to_numpy() == pytest.approx(1)
    assert shares.idxmax(shares.dims[-1]).to_numpy().tolist() == said.tolist()
    if shares.dims[-1] in frame:
        assert set(said) <= set(frame[shares.dims[-1]])


@every_mechanism
def test_the_certificate_names_audits_that_exist(released, name, typed):
    row = ROWS[name]
    if typed in row.cannot:
        return
    named = released(name, typed).certificate()["verification"]["audit"]
    assert set(named) <= set(CASES)
    assert bool(named) == (row.mechanisms[typed] not in row.unaudited)


@every_row
def test_the_first_audit_of_a_row_holds(released, name):
    """An audit refutes a true claim with probability 1e-4 at most; the seed is fixed."""
    case = released(name, next(iter(ROWS[name].mechanisms))).certificate()["verification"]["audit"][0]
    assert not audited(case)


@cache
def audited(case):
    return empirical(CASES[case](), dc.SeededSource(3), runs=1000).refuted


@pytest.mark.parametrize("typed", single_draws())
def test_the_command_fits_by_every_posterior_draw(tmp_path, monkeypatch, typed):
    target = "approx:2000,1e-2" if typed == "direct" else "approx:4,1e-6"
    walk_by_command(tmp_path, monkeypatch, "beta_bernoulli", mechanism=typed, target=target)
    assert dc.Release.load("out").mechanism == typed


@every_row
def test_the_command_plans_fits_and_verifies(tmp_path, monkeypatch, name):
    walk_by_command(tmp_path, monkeypatch, name)
    assert dc.Release.load("out").model.name == name


def walk_by_command(tmp_path, monkeypatch, name, **asked):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    row, example = ROWS[name], ROWS[name].examples[0]
    frame_of(name).to_parquet("rows.parquet")
    job = {
        "data": "rows.parquet",
        "schema": "schema.toml",
        "model": name,
        "prior": dict(example.prior),
        "target": "approx:4,1e-6",
        "ledger": "budget.db",
        "out": "out",
        "seed": 1,
        "relation": relation_of(name).value,
        **({"column": list(example.columns)} if row.kind == "family" else {}),
        **asked,
    }
    (tmp_path / "schema.toml").write_text(schema_of(name).to_toml())
    (tmp_path / "job.toml").write_text(toml(job))
    n = str(COPIES * len(example.rows))
    few = {"family": (), "groups": ("--replicates", "16")}.get(row.kind, ("--replicates", "1"))
    for command in (
        (
            "ledger",
            "init",
            "budget.db",
            "--budget",
            "approx:3000,1e-1",
            "--relation",
            relation_of(name).value,
        ),
        ("plan", "job.toml", "--n", n, *few),
        ("fit", "job.toml"),
        ("ledger", "verify", "budget.db", "--release", "out"),
        ("show", "out"),
        ("read", "out", "--csv", "read.csv"),
    ):
        done = CliRunner().invoke(app, list(command))
        assert done.exit_code == 0, (command, done.output, done.exception)
    assert len(pd.read_csv("read.csv")) == len(dc.Release.load("out").posterior.names)
    predict_by_command(row)


def predict_by_command(row):
    frame = frame_of(row.name)
    frame.to_csv("rows.csv", index=False)
    network = ("--target", "b") if row.name == "bayesian_network" else ()
    for source in ("rows.csv", "rows.parquet"):
        done = CliRunner().invoke(app, ["predict", "out", source, "--out", f"{source}.out.csv", *network])
        if row.unpredicted:
            assert done.exit_code == 2
            assert row.unpredicted in " ".join(done.output.split())
        else:
            assert done.exit_code == 0, (done.output, done.exception)
    if not row.unpredicted:
        first, second = (
            pd.read_csv(f"{source}.out.csv")["predicted"] for source in ("rows.csv", "rows.parquet")
        )
        said = dc.Release.load("out").posterior.predict(frame, **({"target": "b"} if network else {}))
        assert (
            first.tolist() == second.tolist() == pytest.approx(said.tolist(), rel=1e-9)
            if said.dtype.kind == "f"
            else list(said)
        )


def toml(job):
    return "\n".join(f"{key} = {inline(value)}" for key, value in job.items())


def inline(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(part)}" for key, part in value.items()) + " }"
    return json.dumps(value)


@every_mechanism
def test_arviz_reads_every_release_with_its_labels(released, tmp_path, name, typed):
    """Chains stay apart, axes bear labels, and prior and posterior have the same variables."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\s*ArviZ is undergoing", category=FutureWarning)
        import arviz as az

    if typed in ROWS[name].cannot:
        return
    release = released(name, typed)
    made = release.to_inference_data(draws=20)
    if ROWS[name].kind == "numbers":
        assert "prior" not in made.children  # there is none
    else:
        apart = set(made["posterior"].data_vars) - set(made["prior"].data_vars)
        assert apart <= {"state"}  # the states of a hidden Markov model
    assert len(made["posterior"].chain) == max(1, release.posterior.diagnostics.chains)
    if ROWS[name].kind == "family" and name != "bayesian_linear_regression":
        for group in ("posterior", "prior"):
            drawn = next(iter(made[f"{group}_predictive"].data_vars.values()))
            assert drawn.shape[:2] == next(iter(made[group].data_vars.values())).shape[:2]
    if release.reading == "draws":
        return  # a single draw has no spread
    saved = az.from_netcdf(release.save(tmp_path / "out", draws=20) / "posterior.nc")
    table = az.summary(saved, kind="stats")
    assert np.isfinite(table.to_numpy()).all()
    own = getattr(az, "from_datatree", lambda tree: tree)(made)  # ArviZ 1 takes the tree as it is
    assert list(az.summary(own, kind="stats").index) == list(table.index)
    coordinates = {str(x) for part in saved.posterior.coords.values() for x in part.to_numpy()}
    labels = {word for row in table.index if "[" in row for word in row.partition("[")[2][:-1].split(", ")}
    assert labels <= coordinates
    assert not any("_dim_" in dim for dim in saved.posterior.dims)
    az.plot_forest(saved)
    plt.close("all")
