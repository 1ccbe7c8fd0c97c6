"""What a user types, as values: targets, priors, options. Decimals are exact: 0.1 is one tenth."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.catalogue import COUNTS, FAMILY, GROUPS, NUMBERS, REGRESSION, names
from discreet.mechanisms.registry import offered_to

if TYPE_CHECKING:
    from discreet.privacy.guarantee import Guarantee, Relation
    from discreet.privacy.under_metric.distances import Metric


KINDS_OF_MODEL = (FAMILY, COUNTS, REGRESSION, GROUPS, NUMBERS)
RELATIONS = ("substitute", "add_remove")
KINDS = {
    "pure": "pure:EPSILON",
    "approx": "approx:EPSILON,DELTA",
    "zcdp": "zcdp:RHO",
    "gdp": "gdp:MU",
    "renyi": "renyi:ORDER,EPSILON",
    "metric": "metric:EPSILON[,DELTA],METRIC",
}
METRICS = "hamming, absolute[=GRID], total[=GRID], normal, steps=WITHIN, weighted=COLUMN:WEIGHT+COLUMN:WEIGHT"


def mechanisms(*kinds: str) -> tuple[str, ...]:
    """Return what users type for the mechanisms of models of these kinds, or of all; each default first."""
    return tuple(dict.fromkeys(typed for kind in kinds or KINDS_OF_MODEL for typed in offered_to(kind)))


def typed_model(word: object) -> str:
    """Return a model's name as the catalogue has it, also when typed with hyphens."""
    return str(word).strip().replace("-", "_")


def names_own_columns(word: object, prior: Mapping[str, Any] | None = None) -> bool:
    """Whether a model is told its columns by name: of counts, groups, numbers, a regression with a target."""
    return typed_model(word) in names(COUNTS, REGRESSION, GROUPS, NUMBERS) or "target" in (prior or {})


def starting_with(names: Sequence[str]) -> Callable[[str], list[str]]:
    """Return the completion of a fixed list of names."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def relation(word: str) -> Relation:
    from discreet.privacy.guarantee import Relation  # noqa: PLC0415 - loaded on use, not for --help

    plain = word.strip().lower().replace("-", "_")
    if plain not in RELATIONS:
        graph = "; a budget for profiles is for one graph: discreet ledger init --graph FILE"
        raise ValueError(
            f"--relation is one of {', '.join(RELATIONS)}, got {word!r}{graph if plain == 'profile' else ''}"
        )
    return Relation(plain)


def graph_relation(path: Path, word: str | None) -> Relation:
    """Return the neighbours of a public graph's file; --relation says profile, or nothing."""
    from discreet.privacy.profile_graph import ProfileGraph  # noqa: PLC0415

    if word not in {None, "profile"}:
        raise ValueError(f"--graph is for profiles: leave --relation out, got --relation {word}")
    return ProfileGraph.load(path).relation


def promise(words: str, neighbours: str | Relation = "substitute") -> Guarantee:
    """Read a target or a budget: a kind, a colon, its numbers."""
    from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroCDP  # noqa: PLC0415

    kind, _, rest = words.partition(":")
    if kind == "metric":
        return _under_metric(rest, words, neighbours)
    build: dict[str, tuple[int, Callable[..., Guarantee]]] = {
        "pure": (1, PureDP),
        "approx": (2, ApproxDP),
        "zcdp": (1, ZeroCDP),
        "gdp": (1, GaussianDP),
        "renyi": (2, RenyiDP.at),
    }
    wanted, make = build.get(kind, (0, PureDP))
    parts = rest.split(",")
    if len(parts) != wanted or not rest:
        raise ValueError(f"a promise is written {' or '.join(KINDS.values())}; got {words!r}")
    near = relation(neighbours) if isinstance(neighbours, str) else neighbours
    return make(*(number(part, words) for part in parts), relation=near)


def _under_metric(rest: str, words: str, neighbours: str | Relation) -> Guarantee:
    """Read ε, δ if there is one, and the metric: a promise per unit of its distance."""
    from discreet.privacy.under_metric.promise import MetricDP  # noqa: PLC0415

    *numbers, said = rest.split(",")
    if not 1 <= len(numbers) <= 2:
        raise ValueError(f"a promise under a metric is written {KINDS['metric']}; got {words!r}")
    if neighbours not in {"substitute", None}:
        raise ValueError(
            "a metric says itself which tables are near each other: leave --relation out; the number of "
            "records is public"
        )
    loss, slack = (*(number(part, words) for part in numbers), Fraction(0))[:2]
    return MetricDP(loss, slack, metric(said.strip(), words))


def metric(said: str, words: str) -> Metric:
    """Read the name of a metric, and the number or weights that it takes."""
    from discreet.privacy.under_metric import distances as d  # noqa: PLC0415

    name, _, value = said.partition("=")
    plain: dict[str, Callable[[], Metric]] = {"hamming": d.Hamming, "normal": d.NormalDifference}
    on_grid: dict[str, Callable[..., Metric]] = {"absolute": d.AbsoluteDifference, "total": d.TotalDifference}
    if name in plain and not value:
        return plain[name]()
    if name in on_grid:
        return on_grid[name](number(value, words)) if value else on_grid[name]()
    if name == "steps" and value:
        return d.Steps(number(value, words))
    if name == "weighted" and value:
        parts = [part.rpartition(":") for part in value.split("+")]
        return d.Weighted({column.strip(): number(weight, words) for column, _, weight in parts})
    raise ValueError(f"a metric is one of {METRICS}; got {said!r} in {words!r}")


def _metric_words(relation: Relation) -> str:
    """Write a metric as `metric` reads it, where its digest confirms the words; else its description."""
    from discreet.privacy.under_metric import distances as d  # noqa: PLC0415

    known: dict[str, Metric] = {"hamming": d.Hamming(), "normal": d.NormalDifference()}
    known |= {"absolute": d.AbsoluteDifference(), "total": d.TotalDifference()}
    if grid := re.search(
        r"multiples of ([\d.e+-]+)$", relation.about
    ):  # six digits: the digest confirms them
        for near in (Fraction(grid[1]), Fraction(grid[1]).limit_denominator(2**16)):
            known[f"absolute={near}"], known[f"total={near}"] = (
                d.AbsoluteDifference(near),
                d.TotalDifference(near),
            )
    if (within := d.Steps.of(relation)) is not None:
        return f"steps={within}"
    return next((name for name, each in known.items() if each.relation == relation), relation.about)


def typed(given: Guarantee) -> str:
    """Write a promise as `promise` reads it: exactly where that is short, else rounded down."""
    from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP, ZeroCDP  # noqa: PLC0415
    from discreet.privacy.under_metric.promise import MetricDP  # noqa: PLC0415
    from discreet.privacy.words import DOWN, in_words, ratio  # noqa: PLC0415

    if isinstance(given, MetricDP):
        slack = f",{ratio(given.slack)}" if given.slack else ""
        return f"metric:{ratio(given.loss)}{slack},{_metric_words(given.relation)}"
    if isinstance(given, PureDP):
        return f"pure:{ratio(given.loss)}"
    if isinstance(given, ApproxDP):
        return f"approx:{ratio(given.loss)},{ratio(given.slack)}"
    if isinstance(given, ZeroCDP):
        return f"zcdp:{ratio(given.rho)}"
    if isinstance(given, GaussianDP):
        square = Fraction(given.mu_squared)
        root = Fraction(math.isqrt(square.numerator * 4**80 // square.denominator), 2**80)  # at or below μ
        whole = Fraction(given.mu)
        return f"gdp:{ratio(whole if whole**2 == square else root)}"
    return in_words(given, DOWN)


def number(word: str, whole: str) -> Fraction:
    try:
        return Fraction(word.strip())
    except (ValueError, ZeroDivisionError):
        raise ValueError(
            f"{word.strip()!r} in {whole!r} is not a number; write e.g. approx:0.5,1e-6 or pure:1/3"
        ) from None


def assignments(words: str | Sequence[str], what: str) -> dict[str, Any]:
    """Read 'alpha=1, beta=3' or 'alpha=[1, 1, 2]': the inside of a TOML table, decimals exact."""
    parts = [words] if isinstance(words, str) else list(words)
    found: dict[str, Any] = {}
    for part in parts:
        found |= _table(part, what)
    return found


def _table(words: str, what: str) -> dict[str, Any]:
    try:
        return dict(tomllib.loads(f"it = {{ {words} }}", parse_float=Fraction)["it"])
    except tomllib.TOMLDecodeError:
        name, sign, value = words.partition("=")
        if sign and value.strip().isidentifier():  # noise=discrete_gaussian, without quotes
            return {name.strip(): value.strip()}
    raise ValueError(
        f"{what} is written name=value, name=value (lists as [1, 2], a half as 0.5); got {words!r}"
    )


def derivations(words: str | Sequence[str]) -> dict[str, str]:
    """Read 'band = age.cut([18, 65])': a name, and the text of what it stands for."""
    found: dict[str, str] = {}
    for part in [words] if isinstance(words, str) else words:
        name, _, text = (piece.strip() for piece in part.partition("="))
        if not name.isidentifier() or not text or text.startswith("="):
            raise ValueError(
                f"--derive is written 'NAME = EXPRESSION', e.g. 'band = age.cut([18, 65])'; got {part!r}"
            )
        if name in found:
            raise ValueError(f"--derive gives {name!r} twice; give each derived column its own name")
        found[name] = text
    return found


def one_of(what: str, name: str, names: Sequence[str]) -> str:
    """Return a name of the list, also when typed with hyphens; refuse others and list them."""
    plain = name.strip().replace("-", "_")
    if plain not in names:
        raise ValueError(f"no {what} is called {name!r}; there are {', '.join(names)}")
    return plain


# ── Options that several commands share, declared once.
# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: FBT001


def _remember(ctx: typer.Context, value: bool) -> bool:
    """Note --json where the root can see it, so that failures are JSON too."""
    if value:
        ctx.meta["discreet.json"] = True
    return value


def _kinds(incomplete: str) -> list[str]:
    return [f"{kind}:" for kind in KINDS if kind.startswith(incomplete)]


PROMISE = ", ".join(KINDS.values())

Json = Annotated[bool, typer.Option("--json", callback=_remember, help="Print JSON, failures too.")]
Target = Annotated[
    str | None,
    typer.Option(metavar="PROMISE", help=f"What to promise: {PROMISE}.", autocompletion=_kinds),
]
Epsilon = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="What to promise, instead of --target: ε …")
]
Delta = Annotated[str | None, typer.Option(metavar="NUMBER", help="… and δ; without it ε is pure.")]
Actor = Annotated[str | None, typer.Option(help="Who asks, for the ledger; as declared.")]
Label = Annotated[
    str | None, typer.Option(help="What the data set is called in the ledger. [default: its file or table]")
]
Budget = Annotated[
    str,
    typer.Option(metavar="PROMISE", help=f"The whole budget: {PROMISE}.", autocompletion=_kinds),
]
Neighbours = Annotated[
    str | None,
    typer.Option(
        metavar="NEIGHBOURS",
        help="substitute: one record replaced, n public (default). add_remove: n private.",
        autocompletion=starting_with(RELATIONS),
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="FAMILY",
        help=f"One of {', '.join(names(FAMILY))}.",
        autocompletion=starting_with(names(FAMILY)),
    ),
]
AnyModel = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help=f"One of {', '.join(names())}.",
        autocompletion=starting_with(names()),
    ),
]
Prior = Annotated[
    str | None,
    typer.Option(metavar="NAME=VALUE,…", help="Hyper-parameters, e.g. 'alpha=1,beta=3' or 'alpha=[1,1,2]'."),
]
By = Annotated[
    str | None,
    typer.Option(metavar="NAME[,NAME]", help="One posterior for each level of these columns, one charge."),
]
AnyMechanism = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=(
            f"One of {', '.join(mechanisms(FAMILY))}; of {', '.join(names(COUNTS))}: "
            f"{', '.join(mechanisms(COUNTS))}; of "
            f"{', '.join(names(REGRESSION))}: {', '.join(mechanisms(REGRESSION))}. "
            f"[default: {', '.join(mechanisms(kind)[0] for kind in KINDS_OF_MODEL)}]"
        ),
        autocompletion=starting_with(mechanisms()),
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="An option of the mechanism, e.g. noise=discrete_gaussian, truncation=0.05. Repeatable.",
    ),
]
Derive = Annotated[
    list[str] | None,
    typer.Option(
        metavar="'NAME = EXPR'", help="A column computed row by row; fit --help has the words. Repeatable."
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="EXPR", help="Keep only rows for which this holds; fit --help has the words. Repeatable."
    ),
]
Saved = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a release, as fit wrote it.")]
Reading = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="noise_aware, naive, … as the release can be read. [default: as its report was]",
        autocompletion=starting_with(("noise_aware", "naive")),
    ),
]
ReadingOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="NAME=VALUE", help="An option of the reading, e.g. clips=true. Repeatable."
    ),
]
Scope = Annotated[str, typer.Option(help="The scope of the ledger: a table, an analyst, a project.")]
Where = Annotated[str, typer.Argument(metavar="LEDGER", help="An SQLite file or a postgresql:// URL.")]
Seed = Annotated[
    int | None,
    typer.Option(help="Draw from a public seed: reproducible and NOT PRIVATE, for tests and examples."),
]
Out = Annotated[Path, typer.Option(help="The folder to write into.")]
