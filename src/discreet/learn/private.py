"""What every estimator here is: a charge, then one look at the records, then free readings."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from discreet.learn.declared import bits, one_answer_each, promise, read_columns, refuse_weights
from discreet.ledger import Ledger
from discreet.privatise import kept, pay

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from discreet.models.margin_losses import Floats
    from discreet.privacy.guarantee import Guarantee
    from discreet.receipts import Receipt
    from discreet.sampling.source import Source

S = TypeVar("S")
T = TypeVar("T")


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Fit once for each charge. Without a ledger nothing records what was spent: the caller must."""

    target: Any
    epsilon: Any
    delta: Any
    relation: Any
    ledger: Any
    scope: Any
    random_state: Any
    receipt_: Receipt | None

    def fit(self, X: ArrayLike, y: ArrayLike | None, **unknown: Any) -> Self:  # noqa: ANN401
        """Learn from private records, once; every further fit is a further release.

        What is checked before the charge is public: parameters, shapes, types, names. sample_weight is
        refused.
        """
        refuse_weights(unknown)
        target = promise(self.target, self.epsilon, self.delta, self.relation)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give one answer "
                "for each row of X"
            )
        x = read_columns(self, X, target.relation, reset=True)
        self._fit(x, one_answer_each(y, len(x)), target, bits(self.random_state))
        return self

    @abstractmethod
    def _fit(self, x: Floats, y: Any, target: Guarantee, source: Source) -> None:  # noqa: ANN401
        """Calibrate, pay, draw, read; sets what ends in an underscore."""

    def _paid(self, own: Guarantee, target: Guarantee, encode: Callable[[], S], draw: Callable[[S], T]) -> T:
        """Charge durably, then encode the records, claim the charge, draw."""
        if self.ledger is None:
            self.receipt_ = None
            return quiet(lambda: draw(encode()))
        book = self.ledger if isinstance(self.ledger, Ledger) else Ledger.open(self.ledger)
        note = f"discreet.learn.{type(self).__name__}"
        receipt = pay(book, (own, target), scope=self.scope, note=note)

        def work() -> T:
            encoded = encode()
            book.mark_computed(receipt.id)
            return draw(encoded)

        self.receipt_ = receipt
        return kept(receipt, work)

    def _columns(self, X: ArrayLike) -> Floats:
        """Check rows to predict; what is missing among them counts as it did in fit."""
        return read_columns(self, X, None, reset=False)

    # ── scikit-learn's manners ──
    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # a missing number counts as the middle of its column
        tags.non_deterministic = self.random_state is None
        tags.target_tags.required = True
        return tags

    def __sklearn_clone__(self) -> Self:
        """Share an open ledger: a copy of a budget would be a second budget."""
        shared = self.ledger if isinstance(self.ledger, Ledger) else None
        given = {
            name: value if value is shared else clone(value, safe=False)
            for name, value in self.get_params(deep=False).items()
        }
        return type(self)(**given)


def quiet(work: Callable[[], T]) -> T:
    """Run what touches private data; nothing of a failure's words or frames comes through."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - whatever was raised may quote a row
        kind = type(error).__name__
    raise RuntimeError(
        f"fitting failed with {kind}, whose own words are withheld because they may quote rows"
    )


def array(values: ArrayLike) -> Any:  # noqa: ANN401
    """Return a read-only array, as a released number is."""
    kept_ = np.array(values)
    kept_.flags.writeable = False
    return kept_
