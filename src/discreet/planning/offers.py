"""What a fit could ask for: every mechanism with the options that it needs, calibrated as the fit does."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast, final

from discreet.catalogue import row_of
from discreet.mechanisms.for_unit import calibrated_for_unit, promise_for_unit
from discreet.mechanisms.mechanism import Mechanism, ModelMechanism
from discreet.mechanisms.registry import MECHANISMS, under_distance
from discreet.mechanisms.statistics.noised_vector import NOISES
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee, NotProved, Unreachable
from discreet.privacy.json import to_json

FROM_THE_PLAN = {"model", "n", "target", "rows_per_unit", "draws", "mechanism"}  # not options of a mechanism
ROOM = 2  # times the expected records: the cap that a draw is given where n is private


@final
@dataclass(frozen=True)
class Asked:
    """What a job says beside its model: rows that count of one unit, draws, a mechanism and its options."""

    rows_per_unit: int = 1
    draws: int = 1
    mechanism: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Offer:
    """One way to fit: `ask` is what `privatise` would be told, `price` what its ledger would be charged."""

    name: str
    kind: type[ModelMechanism]
    model: object
    n: int | None
    target: Guarantee
    asked: Asked
    ask: Mapping[str, Any]

    def calibrate(self) -> ModelMechanism:
        """Find the knob, by the code of the fit."""
        options = {name: value for name, value in self.ask.items() if name not in FROM_THE_PLAN}
        asked = self.asked
        if asked.draws != 1 and not self.kind.repeats:
            raise Unreachable(f"{self.ask['mechanism']} makes one release per charge: leave draws out")
        return calibrated_for_unit(
            self.kind,
            self.model,
            self.target,
            n=self.n,
            rows_per_unit=asked.rows_per_unit,
            draws=asked.draws,
            **options,
        )

    def price(self, ready: Mechanism) -> Guarantee:
        """Return what the fit charges, or the target where the ledger does not admit that."""
        return promise_for_unit(ready, self.asked.rows_per_unit, self.target)


def offers(
    model: object, n: int, target: Guarantee, asked: Asked, only: Sequence[str] | None = None
) -> list[Offer]:
    """Every mechanism of the model, `only` these, or the one that the job names; each kind of noise apart."""
    rows = row_of(model).mechanisms
    if target.relation.is_distance:  # few are proved for one, and the others could only refuse
        rows = {name: home for name, home in rows.items() if under_distance(home)}
        if not rows:
            raise NotProved(
                f"nothing of {type(model).__name__} is proved under a metric: ask for neighbours, or of a "
                "Bernoulli, binomial, categorical or exponential family, or a Bayesian network"
            )
    kinds = {name: cast("type[ModelMechanism]", MECHANISMS[home]) for name, home in rows.items()}
    _refuse_strangers(kinds, asked)
    if asked.rows_per_unit > 1 and target.relation.replaces:
        raise ValueError(
            "units have differing numbers of rows: ask for a target with relation=ADD_REMOVE, not SUBSTITUTE"
        )
    if not set(only or ()) <= set(kinds):
        raise ValueError(
            f"mechanisms of {type(model).__name__} are {', '.join(kinds)}; got {', '.join(only or ())}"
        )
    if only is None and asked.mechanism is not None:
        only = [asked.mechanism]
    private = target.relation is ADD_REMOVE
    size = None if private else n
    defaults = {"truncation": usual_truncation(model)} | ({"most": ROOM * n} if private else {})
    return [
        Offer(label, kind, model, size, target, asked, {"mechanism": name, **options, **_draws(asked, kind)})
        for name, kind in kinds.items()
        if only is None or name in only
        for label, options in _variants(name, kind, defaults, asked)
    ]


def _draws(asked: Asked, kind: type[ModelMechanism]) -> dict[str, int]:
    return {"draws": asked.draws} if asked.draws != 1 and kind.repeats else {}


def _takes(kind: type[ModelMechanism]) -> dict[str, bool]:
    """Name the options of a mechanism, and whether it needs them."""
    known = inspect.signature(kind.calibrate).parameters.items()
    return {name: p.default is inspect.Parameter.empty for name, p in known if name not in FROM_THE_PLAN}


def _refuse_strangers(kinds: Mapping[str, type[ModelMechanism]], asked: Asked) -> None:
    if asked.mechanism is not None and asked.mechanism not in kinds:
        raise ValueError(
            f"no mechanism of this model is called {asked.mechanism!r}; there are {', '.join(kinds)}"
        )
    meant = kinds if asked.mechanism is None else {asked.mechanism: kinds[asked.mechanism]}
    known = dict.fromkeys(option for kind in meant.values() for option in _takes(kind))
    strange = sorted(set(asked.options) - set(known))
    if strange:
        raise ValueError(
            f"{asked.mechanism or 'the mechanisms'} can be told {', '.join(known) or 'nothing'}; "
            f"got {', '.join(strange)}"
        )


def _variants(
    name: str, kind: type[ModelMechanism], defaults: Mapping[str, Any], asked: Asked
) -> list[tuple[str, dict[str, Any]]]:
    """Label and options of each way to ask for one mechanism: the job's options, and what it leaves out."""
    takes = _takes(kind)
    given = {option: value for option, value in asked.options.items() if option in takes}
    given = {option: value for option, value in defaults.items() if option in takes} | given
    if "noise" not in takes or kind.reads != "statistic":  # others have one kind that suits them
        return [(name, given)]
    noises = [given.pop("noise")] if "noise" in given else list(NOISES)
    return [(f"{name} ({noise})", {"noise": noise, **given}) for noise in noises]


def usual_truncation(model: object) -> Fraction:
    """Return a tenth of an even share, to one digit: the truncation where a job does not say one."""
    sizes = getattr(model, "sizes", None) or (getattr(model, "dimension", 2),)
    return Fraction(f"{1 / (10 * max(sizes)):.0e}")


def ask_to_json(ask: Mapping[str, Any]) -> dict[str, Any]:
    return {name: float(value) if isinstance(value, Fraction) else value for name, value in ask.items()}


def price_to_json(price: Guarantee | None) -> dict[str, Any] | None:
    return None if price is None else to_json(price)


def in_python(ask: Mapping[str, Any]) -> str:
    """Spell what to ask for as arguments of `privatise`."""
    plain = ask_to_json(ask)
    return ", ".join(f"{name}={value!r}" for name, value in plain.items())


def on_the_command_line(ask: Mapping[str, Any]) -> str:
    """Spell it as options of `discreet fit`."""
    own = {"mechanism", "draws"}
    return " ".join(
        f"--{name} {value}" if name in own else f"--option {name}={value}"
        for name, value in ask_to_json(ask).items()
    )
