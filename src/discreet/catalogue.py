"""The table of contents: one row for each model, saying what exists for it and where.

Everything is named as "module:name" and loaded on first use, so that looking is cheap and any layer may look.
What a layer may load is its own affair: what is right of the release loads readers and pages, what is left of
it loads statistics. A test holds every `load` to that.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, final

T = TypeVar("T")
FAMILY, COUNTS, REGRESSION, GROUPS, NUMBERS = (
    "family",
    "counts",
    "regression",
    "groups",
    "numbers",
)


def resolve(home: str) -> Any:  # noqa: ANN401 - whatever stands there
    """Return what "module:name" of this package names, loading the module."""
    module, _, name = home.partition(":")
    return getattr(importlib.import_module(f"discreet.{module}"), name)


@final
@dataclass(frozen=True)
class Registry(Mapping[str, type[T]], Generic[T]):
    """name → class, each loaded when it is first asked for; `kind` is what people call the things in it."""

    kind: str
    home: Mapping[str, str]

    def __getitem__(self, name: str) -> type[T]:
        if name not in self.home:
            raise KeyError(f"no {self.kind} is called {name!r}; there are {', '.join(self.home)}")
        found: type[T] = resolve(self.home[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.home)

    def __len__(self) -> int:
        return len(self.home)


@final
@dataclass(frozen=True)
class Example:
    """A prior, a public schema, and records within its bounds, one tuple per record."""

    prior: Mapping[str, Any]  # arguments of the model's constructor, as a job file has them
    columns: Mapping[str, Mapping[str, Any]]  # as a schema file has them
    rows: tuple[tuple[Any, ...], ...]


@final
@dataclass(frozen=True)
class ModelRow:
    """What exists for one model, and where; `refused` and `pair` say what does not."""

    name: str
    kind: str  # FAMILY, COUNTS, REGRESSION, GROUPS or NUMBERS
    model: str
    examples: tuple[Example, ...]
    statistic: Mapping[str, str]  # what a mechanism reads → builder of (table, model, n)
    reader: Mapping[str, str]  # kind of released value → reader of (value, model, reading)
    planner: str
    report: Mapping[str, str]  # part of the page → function of a release
    parameters: tuple[str, ...] = ("theta",)  # of a family: the names of the parts of θ
    parts: str = "posteriors.labels:whole"  # takes θ apart into them
    binder: str = ""  # tells the model what the schema says of its columns
    weak_prior: str = ""  # of a family: the prior that its columns' declarations give
    record_law: str = ""  # of one clipped record, where log_likelihood on the lattice does not say it
    plan_size: str = "planning.simulated_data:few"  # how many data sets a plan imagines, of a model
    plan_reading: str = ""  # what a plan reads noise-aware with, where that is quick
    simulator: str = ""  # statistics of n records given θ, where the lattice does not give them
    audit: str = ""  # how the audit cases of one posterior draw call the family
    unaudited: tuple[str, ...] = ()  # mechanisms without such a case
    clips: bool = False  # whether its noisy statistic is read otherwise where records were clipped
    pair: bool = True  # of a family: a worst neighbouring pair of posteriors is proved
    refused: Mapping[str, str] = field(default_factory=dict)  # mechanism, as typed → why
    predicted: str = ""  # what its posterior predicts for a row, and from which columns
    unpredicted: str = ""  # why its posterior predicts no column of a row; empty where it does

    @property
    def mechanisms(self) -> dict[str, str]:
        """Map the names users type to registry names, default first."""
        found: dict[str, str] = resolve("mechanisms.registry:offered_to")(self.kind)
        return found

    @property
    def cannot(self) -> dict[str, str]:
        """Map what users may type in vain to the reason, in the words that they are shown."""
        drawn = () if self.pair else resolve("mechanisms.registry:single_draws")()
        return {**dict.fromkeys(drawn, f"{NO_PAIR} {self.model.partition(':')[2]}"), **self.refused}

    def audits(self, mechanism: str, relation: str, noise: str | None) -> list[str]:
        """Name the audit cases that attack a mechanism of this model."""
        own: bool = resolve("mechanisms.registry:has_own_case")(mechanism, relation)
        further = [f"{mechanism}/{relation}"] if own else []
        if mechanism in self.unaudited:
            return further
        if self.kind == REGRESSION or (self.kind == COUNTS and noise is None):
            return [mechanism, *further]  # their case bears their name
        detail = self.audit if noise is None else noise
        return ([f"{mechanism}/{detail}"] if detail else []) + further

    def load(self, what: str, key: str | None = None) -> Any:  # noqa: ANN401 - a class or a function
        """Return the class or function that a field of the row names, or None where it names none."""
        named = getattr(self, what)
        home = named.get(key) if key is not None else named
        return resolve(home) if home else None


def expect(kind: type[T], value: object) -> T:
    """Return what a row led here as the class that this function was written for."""
    if not isinstance(value, kind):
        raise TypeError(f"made for {kind.__name__}, got {type(value).__name__}: the catalogue's row is wrong")
    return value


# ── what rows of one kind share ─────────────────────────────────────────────────────────────────────
def _family(name: str, model: str, **own: Any) -> ModelRow:  # noqa: ANN401 - fields of ModelRow
    """Return the row of a family; `statistic`, `reader`, `subject` and `predictive` are given in short."""
    if "reader" not in own:  # one number: quick to imagine, and to read
        one = {
            "reader": "posteriors.scalar.read:read",
            "plan_size": "planning.simulated_data:many",
            "plan_reading": "planning.prediction:tabulated",
        }
        own = {**one, **own}
    reader = {"noisy_statistics": own.pop("reader")}
    report = {
        "findings": "report.findings:Findings",
        "subject": f"report.subject:{own.pop('subject', 'unnamed')}",
        "predictive": f"report.predictive:{own.pop('predictive')}",
    }
    statistic = {"statistic": own.pop("statistic", "statistics.sums:total")}
    own.setdefault("unpredicted", NO_ANSWER)
    return ModelRow(
        name,
        FAMILY,
        model,
        statistic=statistic,
        reader=reader,
        planner="planning:plan_family",
        report=report,
        **own,
    )


def _counts(name: str, model: str, reader: str, report: Mapping[str, str], **own: Any) -> ModelRow:  # noqa: ANN401
    return ModelRow(
        name,
        COUNTS,
        model,
        statistic={"statistic": "statistics.cells:cells"},
        reader={"noisy_counts": reader, **own.pop("readers", {})},
        planner="planning.counts.plan:plan_counts",
        report={"findings": "report.cells:CellFindings", **report},
        binder="statistics.cells:bind_cells",
        **own,
    )


def _regression(name: str, model: str, **own: Any) -> ModelRow:  # noqa: ANN401
    return ModelRow(
        name,
        REGRESSION,
        model,
        statistic={
            **dict.fromkeys(("statistic", "records"), "statistics.records:records"),
            "passes": "statistics.records:passes",
            "moments": "statistics.signed_moments:signed",
        },
        reader={
            "perturbed_fit": "posteriors.regression.perturbed_fit:reading",
            "noisy_moments": "posteriors.regression.noisy_moments:reading",
            "draws": "posteriors.regression.coefficients:drawn",
        },
        planner="planning.regression.plan:plan_regression",
        report={"findings": "report.coefficients:CoefficientFindings"},
        binder="statistics.records:bind_design",
        **own,
    )


def _numbers(name: str, model: str, example: Example) -> ModelRow:
    return ModelRow(
        name,
        NUMBERS,
        model,
        examples=(example,),
        statistic={"statistic": "statistics.plain:numbers"},
        reader={"noisy_numbers": "posteriors.plain:read"},
        planner="planning.plain:plan_numbers",
        report={"findings": "report.plain:PlainFindings"},
        binder="statistics.plain:bind_plain",
        unpredicted=NO_PREDICTION,
    )


def _one(kind: str, **declared: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401 - as a schema file has it
    return {"x": {"kind": kind, **declared}}


def _several(names: str, kind: str, **declared: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401
    return {name: {"kind": kind, **declared} for name in names.split()}


def _each(*values: object) -> tuple[tuple[Any, ...], ...]:
    """Return records of one column."""
    return tuple((value,) for value in values)


NO_PAIR = "no worst neighbouring pair is proved for one posterior draw of"
NO_TRUNCATION = "OnePosteriorSample truncates Beta and Dirichlet posteriors, not that of"
NO_ANSWER = (
    "this model has no column to predict from others: it describes the columns that it was given; read "
    "mean(), interval() and log_predictive(), or fit naive Bayes, a network or a regression"
)
NO_PREDICTION = (
    "plain numbers describe the records at hand and predict none: use a family, or a model of columns"
)
NO_NAMES = (
    "columns as they are have no names to predict by: BayesianLinearRegression(target=..., features=...) "
    "names them, and then predict(rows) gives the expected answer"
)
NO_NETWORK = "OneNetworkSample draws tables of a BayesianNetwork, not of"


# ── the rows ────────────────────────────────────────────────────────────────────────────────────────
_ROWS = (
    _family(
        "beta_bernoulli",
        "families.beta_bernoulli:BetaBernoulli",
        weak_prior="statistics.from_schema:even_odds",
        examples=(
            Example({"alpha": 6, "beta": 12}, _one("binary"), _each(0, 1, 1, 0, 1)),
            Example(
                {"alpha": 0.5, "beta": 0.75, "grid": 2**-4},
                _one("bounded", lower=0, upper=1),
                _each(0.25, 1, 0.5, 0.0625),
            ),
        ),
        parameters=("p",),
        record_law="posteriors.scalar.record_law:trial_of_unit",
        simulator="planning.imagined:trial_totals",
        subject="bernoulli",
        predictive="true_or_false",
        audit="beta",
    ),
    _family(
        "beta_binomial",
        "families.beta_binomial:BetaBinomial",
        weak_prior="statistics.from_schema:even_odds",
        examples=(Example({"alpha": 2.5, "beta": 4, "trials": 7}, _one("count", max=7), _each(0, 3, 7, 5)),),
        parameters=("p",),
        record_law="posteriors.scalar.record_law:trials",
        simulator="planning.imagined:trial_totals",
        subject="binomial",
        predictive="binomial_counts",
        audit="binomial",
        unaudited=("one_posterior_sample", "metric_sample"),
    ),
    _family(
        "beta_geometric",
        "families.beta_geometric:BetaGeometric",
        weak_prior="statistics.from_schema:even_odds",
        examples=(
            Example({"alpha": 3.25, "beta": 2, "upper": 12}, _one("count", max=12), _each(0, 4, 12, 1)),
        ),
        clips=True,
        parameters=("p",),
        record_law="posteriors.scalar.record_law:failures",
        subject="geometric",
        predictive="geometric_counts",
        audit="geometric",
        refused={"one_posterior_sample": f"{NO_TRUNCATION} BetaGeometric"},
    ),
    _family(
        "dirichlet_categorical",
        "families.dirichlet_categorical:DirichletCategorical",
        weak_prior="statistics.from_schema:even_cells",
        examples=(
            Example(
                {"alpha": [1, 2.5, 4]},
                _one("categories", levels=[0, 1, 2], unknown=0),
                _each(0, 2, 2, 1, 0),
            ),
            Example({"alpha": [0.5, 3]}, _one("categories", levels=[0, 1], unknown=0), _each(0, 1, 1)),
        ),
        binder="statistics.cells:bind_codes",
        statistic="statistics.cells:code_counts",
        reader="posteriors.counts.dirichlet:read",
        plan_size="planning.simulated_data:by_categories",
        parameters=("p",),
        simulator="planning.imagined:multinomial_totals",
        subject="categories",
        predictive="categories",
        audit="dirichlet",
    ),
    _family(
        "dirichlet_multinomial",
        "families.dirichlet_multinomial:DirichletMultinomial",
        weak_prior="statistics.from_schema:even_items",
        examples=(
            Example(
                {"alpha": [1, 2.5, 4], "trials": 3},
                _several("x y z", "count", max=3),
                ((3, 0, 0), (1, 1, 1), (0, 2, 1)),
            ),
        ),
        statistic="statistics.sums:item_counts",
        reader="posteriors.counts.dirichlet:read",
        plan_size="planning.simulated_data:by_categories",
        parameters=("p",),
        simulator="planning.imagined:multinomial_totals",
        subject="items",
        predictive="categories",
        audit="dirichlet",
        pair=False,
    ),
    _family(
        "gamma_poisson",
        "families.gamma_poisson:GammaPoisson",
        weak_prior="statistics.from_schema:middling_rate",
        examples=(
            Example({"shape": 3.5, "rate": 1.25, "upper": 20}, _one("count", max=20), _each(0, 3, 20, 7)),
        ),
        clips=True,
        parameters=("rate",),
        record_law="posteriors.scalar.record_law:events",
        subject="poisson",
        predictive="poisson_counts",
        audit="gamma_poisson",
        refused={"one_posterior_sample": f"{NO_TRUNCATION} GammaPoisson"},
    ),
    _family(
        "gamma_exponential",
        "families.gamma_exponential:GammaExponential",
        weak_prior="statistics.from_schema:middling_wait",
        examples=(
            Example(
                {"shape": 4.5, "rate": 2, "upper": 8},
                _one("bounded", lower=0, upper=8),
                _each(0.5, 8, 2.25, 0),
            ),
        ),
        clips=True,
        parameters=("rate",),
        record_law="posteriors.scalar.record_law:wait",
        simulator="planning.records:waits",
        subject="exponential",
        predictive="waiting_density",
        audit="gamma_exponential",
        refused={"one_posterior_sample": f"{NO_TRUNCATION} GammaExponential"},
    ),
    _family(
        "normal_mean",
        "families.normal_mean:NormalMean",
        weak_prior="statistics.from_schema:middling_mean",
        examples=(
            Example(
                {"mean": 0.5, "strength": 2, "variance": 2.25, "lower": -4, "upper": 6},
                _one("bounded", lower=-4, upper=6),
                _each(-4, 6, 1.5, 0.25),
            ),
        ),
        clips=True,
        parameters=("mean",),
        record_law="posteriors.scalar.record_law:measurement",
        simulator="planning.records:measurements",
        subject="average",
        predictive="normal_density",
        audit="normal_mean",
        refused={"one_posterior_sample": f"{NO_TRUNCATION} NormalMean"},
    ),
    _family(
        "normal_inverse_gamma",
        "families.normal_inverse_gamma:NormalInverseGamma",
        weak_prior="statistics.from_schema:middling_mean_and_variance",
        examples=(
            Example(
                {"mean": 0.5, "strength": 2, "shape": 5.5, "scale": 4, "lower": -4, "upper": 6},
                _one("bounded", lower=-4, upper=6),
                _each(-4, 6, 1.5, 0.25),
            ),
        ),
        statistic="statistics.sums:two_totals",
        reader="posteriors.normal.read:read",
        clips=True,
        parameters=("mean", "variance"),
        parts="posteriors.labels:mean_and_variance",
        simulator="planning.records:spread_measurements",
        subject="mean_and_variance",
        predictive="student_density",
        pair=False,
        refused={"one_posterior_sample": f"{NO_TRUNCATION} NormalInverseGamma"},
    ),
    _family(
        "normal_inverse_wishart",
        "families.normal_inverse_wishart:NormalInverseWishart",
        weak_prior="statistics.from_schema:middling_vector",
        examples=(
            Example(
                {"mean": [0.5, -1], "strength": 2, "degrees": 7.5, "scale": [[3, 1], [1, 2]], "radius": 4},
                _several("x y", "bounded", lower=-4, upper=4),
                ((1, 2), (-3, 0.5), (0, 0), (2.5, -2.5)),
            ),
        ),
        statistic="statistics.moments:first_and_second",
        reader="posteriors.normal.read:read",
        clips=True,
        parameters=("mean", "covariance"),
        parts="posteriors.labels:mean_and_covariance",
        simulator="planning.records:vectors",
        subject="means_and_covariances",
        predictive="each_column",
        pair=False,
        refused={"one_posterior_sample": f"{NO_TRUNCATION} NormalInverseWishart"},
    ),
    _family(
        "bayesian_linear_regression",
        "families.linear_regression:BayesianLinearRegression",
        predicted="the expected answer of a row, from the features, where target= and features= name them",
        unpredicted=NO_NAMES,
        examples=(
            Example(
                {"mean": [0.5, -1], "precision": [[3, 1], [1, 2]], "shape": 5.5, "scale": 4, "radius": 4},
                _several("one x y", "bounded", lower=-4, upper=4),
                ((1, 2, 0.5), (1, -1, 2), (1, 0, -3), (1, 1.5, 1)),
            ),
        ),
        statistic="statistics.moments:second",
        binder="statistics.records:bind_line",
        reader="posteriors.normal.linear_regression:read",
        plan_size="planning.simulated_data:by_weights",
        plan_reading="planning.prediction:one_by_one",
        parameters=("weights", "variance"),
        parts="posteriors.labels:weights_and_variance",
        simulator="planning.records:responses",
        subject="weights",
        predictive="given_features",
        pair=False,
        refused={"one_posterior_sample": f"{NO_TRUNCATION} BayesianLinearRegression"},
    ),
    _counts(
        "naive_bayes",
        "models.naive_bayes:NaiveBayes",
        "posteriors.counts.naive_bayes:read",
        {"title": "report.cells:label_title", "next": "report.cells:information"},
        predicted="the label of a row, from the features",
        examples=(
            Example(
                {"label": "y", "features": ["a", "b"]},
                {"y": {"kind": "binary"}, **_several("a b", "categories", levels=["u", "v"])},
                ((0, "u", "v"), (1, "v", "v"), (1, "v", "u"), (0, "u", "u")),
            ),
        ),
        refused={"one_network_sample": f"{NO_NETWORK} NaiveBayes"},
    ),
    _counts(
        "bayesian_network",
        "models.bayes_net:BayesianNetwork",
        "posteriors.network.read:read",
        {"title": "report.cells:network_title"},
        readers={"draws": "posteriors.network.read:drawn"},
        predicted="any column of a row, from the others or from some (target=, given=)",
        examples=(
            Example(
                {"graph": [["a", "b"]]},
                _several("a b", "categories", levels=["u", "v"], unknown="u"),
                (("u", "v"), ("v", "v"), ("u", "v"), ("v", "u")),
            ),
        ),
    ),
    _counts(
        "mixture",
        "models.mixture:Mixture",
        "posteriors.mixture.read:read",
        {"title": "report.cells:kinds_title", "tables": "report.cells:mixture_tables"},
        predicted="the hidden class of a row, from the features",
        examples=(
            Example(
                {"components": 2, "features": ["a", "b"]},
                _several("a b", "categories", levels=["u", "v"], unknown="u"),
                (("u", "u"), ("v", "v"), ("u", "u"), ("v", "u")),
            ),
        ),
        refused={"one_network_sample": f"{NO_NETWORK} Mixture"},
    ),
    _counts(
        "hidden_markov",
        "models.hidden_markov:HiddenMarkov",
        "posteriors.hidden_markov.fit:read",
        {
            "title": "report.hidden_states:title",
            "tables": "report.hidden_states:emissions",
            "first": "report.hidden_states:states",
            "last": "report.hidden_states:spent",
        },
        predicted="the hidden state of a row, from its chain and step",
        examples=(
            Example(
                {"states": 2, "chain": "place", "step": "month", "features": ["a"]},
                {
                    "place": {"kind": "categories", "levels": ["N", "S"], "unknown": "N"},
                    "month": {"kind": "categories", "levels": [1, 2, 3], "unknown": 1},
                    "a": {"kind": "categories", "levels": ["u", "v"], "unknown": "u"},
                },
                (("N", 1, "u"), ("N", 2, "v"), ("N", 3, "v"), ("S", 1, "u"), ("S", 2, "u"), ("S", 3, "v")),
            ),
        ),
        refused={"one_network_sample": f"{NO_NETWORK} HiddenMarkov"},
    ),
    _regression(
        "bayesian_logistic_regression",
        "models.generalized_linear:BayesianLogisticRegression",
        predicted="the label of a row, from the features",
        examples=(
            Example(
                {"target": "y", "features": ["a", "b"], "norm": 1.5, "radius": 5},
                {**_several("a b", "bounded", lower=-1, upper=1), "y": {"kind": "binary"}},
                ((0.5, -1, 1), (-0.5, 0.25, 0), (1, 0.5, 1), (-1, -0.5, 0)),
            ),
        ),
    ),
    _regression(
        "generalized_linear",
        "models.generalized_linear:GeneralizedLinear",
        predicted="the expected answer of a row, from the features; of the logistic loss its label",
        examples=(
            Example(
                {
                    "target": "y",
                    "features": ["a"],
                    "norm": 1,
                    "radius": 1,
                    "loss": {"loss": "clipped_poisson", "upper": 4},
                },
                {"a": {"kind": "bounded", "lower": -1, "upper": 1}, "y": {"kind": "count", "max": 4}},
                ((0.5, 3), (-0.5, 0), (1, 4), (-1, 1)),
            ),
        ),
        refused={"polynomial_statistics": "polynomial statistics know the logistic loss"},
    ),
    ModelRow(
        "grouped",
        GROUPS,
        "models.grouped:Grouped",
        examples=(
            Example(
                {
                    "model": {"family": "beta_bernoulli", "alpha": 1, "beta": 1},
                    "by": ["ward"],
                    "of": ["smoker"],
                },
                {
                    "smoker": {"kind": "binary"},
                    "ward": {"kind": "categories", "levels": ["A", "B"], "unknown": "A"},
                },
                ((0, "A"), (1, "B"), (1, "B"), (0, "B"), (1, "A")),
            ),
        ),
        statistic={"statistic": "statistics.grouped:by_group"},
        reader={"noisy_groups": "posteriors.grouped:read"},
        planner="planning.grouped:plan_groups",
        report={"findings": "report.grouped:GroupFindings"},
        binder="statistics.grouped:bind_groups",
        unpredicted=NO_ANSWER,
    ),
    _numbers(
        "record_count",
        "models.plain:RecordCount",
        Example({}, _one("binary"), _each(0, 1, 1)),
    ),
    _numbers(
        "histogram",
        "models.plain:Histogram",
        Example(
            {"of": ["ward", "age"], "edges": {"age": [18, 65]}},
            {
                "ward": {"kind": "categories", "levels": ["A", "B"], "unknown": "A"},
                "age": {"kind": "bounded", "lower": 0, "upper": 100},
            },
            (("A", 20.5), ("B", 70), ("A", 5)),
        ),
    ),
    _numbers(
        "mean_and_variance",
        "models.plain:MeanAndVariance",
        Example({"of": "x"}, _one("bounded", lower=-4, upper=6), _each(-4, 6, 1.5, 0.25)),
    ),
)
ROWS: dict[str, ModelRow] = {row.name: row for row in _ROWS}


def row_of(model: object) -> ModelRow:
    """Return the row of a model, or refuse a model that has none."""
    row = ROWS.get(getattr(model, "name", ""))
    if row is None and isinstance(model, str) and model in ROWS:
        raise TypeError(
            f"a model is wanted, not its name: give {ROWS[model].model.partition(':')[2]}(…), or build it "
            f"with a weak prior by model_for(table, {model!r})"
        )
    if row is None:
        raise TypeError(f"{type(model).__name__} has no row in the catalogue; there are {', '.join(ROWS)}")
    return row


def names(*kinds: str) -> tuple[str, ...]:
    """Name the models of these kinds, or all."""
    return tuple(name for name, row in ROWS.items() if not kinds or row.kind in kinds)


def classes(kind: str) -> Registry[Any]:
    """Return the classes of the models of a kind, by name."""
    return Registry(kind, {name: ROWS[name].model for name in names(kind)})
