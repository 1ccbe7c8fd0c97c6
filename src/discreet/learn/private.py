"""What every estimator here is: a charge, then one look at the records, then free readings."""

from __future__ import annotations

import inspect
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from discreet.learn.declared import bits, one_answer_each, read_columns, refuse_weights
from discreet.ledger import Ledger
from discreet.line.after_charge import Form, blind, release_once
from discreet.line.charge import pay
from discreet.models.margin_losses import Floats
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.asked import promise
from discreet.privacy.guarantee import Guarantee, Relation
from discreet.release.receipt import Receipt
from discreet.sampling.source import Source

if TYPE_CHECKING:
    from sklearn.utils import Tags


NOTE = "discreet.learn."  # before the name of an estimator, in the ledger
S = TypeVar("S")
T = TypeVar("T")


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Fit once for each charge. Without a ledger nothing records what was spent: the caller must."""

    supervised: ClassVar[bool] = True  # whether there is a y

    target: Guarantee | None = None
    epsilon: Exact | None = None
    delta: Exact | None = None
    relation: Relation | str | None = None
    ledger: Ledger | str | None = None
    scope: str | Sequence[str] | None = None
    label: str | None = None  # what the data set is called in the ledger
    actor: str | None = None  # who asks, as declared
    random_state: int | Source | None = None

    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, *, charge_id: str | None = None, **unknown: object
    ) -> Self:
        """Learn from private records, once; every further fit is a further release.

        What is checked before the charge is public: parameters, shapes, types, names. sample_weight is
        refused. The same `charge_id` again pays nothing and gives the same fit, whatever the records: the
        ledger keeps what was drawn.
        """
        refuse_weights(unknown)
        if charge_id is not None and self.ledger is None:
            raise ValueError("charge_id names a charge in a ledger: give ledger= to the estimator")
        self._charge_id: str | None = charge_id
        target = promise(self.target, self.epsilon, self.delta, self.relation)
        if y is None and self.supervised:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give one answer "
                "for each row of X"
            )
        x = self._read_rows(X, target.relation, reset=True)
        answers = one_answer_each(y, len(x)) if self.supervised and y is not None else np.zeros(len(x))
        self._fit(x, answers, target, bits(self.random_state))
        return self

    @abstractmethod
    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None:
        """Calibrate, pay, draw, read; sets what ends in an underscore. Without answers y is zeros."""

    def _paid(  # noqa: PLR0917 - what a charge is made of
        self,
        promises: tuple[Guarantee, Guarantee],  # the mechanism's own, and the target
        about: Mapping[str, str],  # for the ledger: model, mechanism
        asked: Mapping[str, Any],  # what the released numbers mean something by, as JSON
        form: Callable[[Mapping[str, Any]], Form[Any, T]],  # how they are kept: `values` or `numbers`
        encode: Callable[[], S],
        draw: Callable[[S], T],
    ) -> T:
        """Charge durably, then encode the records, draw once, and record what was drawn."""
        self.receipt_: Receipt | None = None
        if self.ledger is None:
            return quiet(lambda: draw(encode()))
        book = self.ledger if isinstance(self.ledger, Ledger) else Ledger.open(self.ledger)
        note = NOTE + type(self).__name__
        # a seeded fit must not come back as a private one
        seeded = bits(self.random_state).seeded
        written = form({"estimator": note, **asked, "seeded": seeded})
        said = {"data": self.label, **about, "actor": self.actor}
        told = {name: value for name, value in said.items() if value}
        named = self._charge_id
        receipt = pay(book, *promises, scope=self.scope, charge_id=named, note=note, about=told)
        self.receipt_ = replace(receipt, computed=True, replay=False)
        # an error while encoding may quote a record as one while drawing may
        return release_once(book, receipt, lambda: blind(encode), draw, written)

    def _shared(self, other: type[PrivateEstimator], **more: Any) -> dict[str, Any]:  # noqa: ANN401 - parameters
        """Return what another estimator takes of the parameters of this one."""
        mine, taken = self.get_params(deep=False), inspect.signature(other).parameters
        return {name: value for name, value in mine.items() if name in taken} | more

    def _read_rows(self, X: ArrayLike, relation: Relation | None, *, reset: bool) -> NDArray[Any]:
        """Check shape, types and names before the charge, and no value."""
        return read_columns(self, X, relation, reset=reset)

    def _columns(self, X: ArrayLike) -> Floats:
        """Check rows to predict; what is missing among them counts as it did in fit."""
        return read_columns(self, X, None, reset=False)

    # ── scikit-learn's manners ──
    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # a missing number counts as the middle of its column
        tags.non_deterministic = self.random_state is None
        tags.target_tags.required = self.supervised
        return tags

    def __sklearn_clone__(self) -> Self:
        """Share an open ledger: a copy of a budget would be a second budget."""
        shared = self.ledger if isinstance(self.ledger, Ledger) else None
        given: dict[str, Any] = {
            name: value if value is shared else clone(value, safe=False)
            for name, value in self.get_params(deep=False).items()
        }
        return type(self)(**given)


def quiet(work: Callable[[], T]) -> T:
    """Run what touches private data; nothing of a failure or a warning comes through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return blind(work)


def array(values: ArrayLike) -> NDArray[Any]:
    """Return a read-only array, as a released number is."""
    kept_ = np.array(values)
    kept_.flags.writeable = False
    return kept_
