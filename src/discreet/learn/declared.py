"""What must be public before an estimator may look at a record: bounds, bits, columns."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d, validate_data

from discreet.models.generalized_linear import Feature
from discreet.models.margin_losses import Floats
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import ADD_REMOVE, Relation
from discreet.sampling.source import SYSTEM, SeededSource, Source

NUMERIC = "biuf"  # dtypes whose values are numbers


def bits(random_state: int | Source | None) -> Source:
    """Return the operating system's generator; a seed is for tests, is not private, and is remembered."""
    if random_state is None:
        return SYSTEM
    if isinstance(random_state, Source):
        return random_state
    if isinstance(random_state, numbers.Integral):
        return SeededSource(int(random_state))
    raise TypeError(
        f"random_state must be None (private), a seed (NOT private) or a Source, got "
        f"{type(random_state).__name__}: numpy's generators are not made for secrets"
    )


# ── columns ─────────────────────────────────────────────────────────────────────────────────────────────
def read_columns(estimator: object, X: ArrayLike, relation: Relation | None, *, reset: bool) -> Floats:
    """Check shape, type and names and no value: an error about a value would tell of one record.

    What scikit-learn would quote rows or their number for is refused before it looks. With n private a table
    may be empty, as its neighbour is.
    """
    refuse_objects(X)
    refuse_shapes(X)
    least = 0 if relation is ADD_REMOVE else 1
    with np.errstate(over="ignore"):  # a warning would tell that some record lies far out
        checked: Floats = validate_data(
            estimator, X, reset=reset, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=least
        )
    return checked


def refuse_objects(X: object) -> None:
    """Refuse columns that are no real numbers by their type alone; converting them would quote a value."""
    if hasattr(X, "toarray"):  # sparse: refused by scikit-learn's own words
        return
    declared: Any = getattr(X, "dtypes", None)  # a data frame has one per column
    one_each = declared is not None and not hasattr(declared, "kind")
    kinds: set[str | None] = {getattr(dtype, "kind", None) for dtype in declared} if one_each else {None}
    if None in kinds:
        kinds = {array_of(X, "X").dtype.kind}
    if "c" in kinds:
        raise ValueError("Complex data not supported: every column of X must be of real numbers")
    if not kinds <= set(NUMERIC):
        raise TypeError(
            "every column of X must have a numeric type; encode categories by public levels first, e.g. "
            "OneHotEncoder(categories=[['A', 'B']], handle_unknown='ignore')"
        )


def refuse_shapes(X: object) -> None:
    shape = X.shape if hasattr(X, "shape") else array_of(X, "X").shape
    if len(shape) != 2:
        raise ValueError(
            f"X must be a table of 2 dimensions, one row per record, got {len(shape)}. Reshape your data by "
            "X.reshape(-1, 1) if it has one column, or by X.reshape(1, -1) if it is one record"
        )
    if not shape[1] >= 1:
        raise ValueError("X has 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")


def one_answer_each(y: ArrayLike, records: int) -> NDArray[Any]:
    """Return y as a column of so many answers; errors hold no value and no number of records."""
    given = array_of(y, "y")
    if given.dtype.kind == "c":
        raise ValueError("Complex data not supported: y must hold labels or real numbers")
    if given.ndim == 0 or given.size != len(given):
        raise ValueError("y must be one column, with one answer for each row of X")
    answers: NDArray[Any] = column_or_1d(y, warn=True)
    if len(answers) != records:
        raise ValueError("X and y have inconsistent numbers of samples: give one answer for each row of X")
    return answers


def refuse_texts(y: NDArray[Any]) -> None:
    """Refuse answers that are no numbers by their type alone."""
    if y.dtype.kind not in NUMERIC:
        raise TypeError("y must have a numeric type; a column of objects may hold anything")


def array_of(values: object, name: str) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        failed = f"{name} must be an array: its rows differ in length, or it holds what no array does"
    raise ValueError(failed)  # here, so that no context quotes what was given


def names_of(estimator: BaseEstimator) -> tuple[str, ...]:
    """Name the columns as the data frame did, or x0, x1, …"""
    given = getattr(estimator, "feature_names_in_", None)
    return tuple(f"x{i}" for i in range(estimator.n_features_in_)) if given is None else tuple(given)


def refuse_weights(unknown: dict[str, object]) -> None:
    if "sample_weight" in unknown:
        raise TypeError(
            "sample_weight is refused: the promise is made for records that all count once. A record of "
            "weight w would need noise w times as large for everybody, and weights read from data are "
            "themselves private"
        )
    if unknown:
        raise TypeError(f"fit takes X and y, got {', '.join(sorted(unknown))} too")


# ── bounds ──────────────────────────────────────────────────────────────────────────────────────────────
@final
@dataclass(frozen=True)
class Scale:
    """x ↦ (x − centre)/half, clipped to [−1, 1] where bounds were declared; else x as it is."""

    centre: tuple[float, ...]
    half: tuple[float, ...]
    clipped: bool

    @classmethod
    def of(cls, bounds: tuple[ArrayLike, ArrayLike] | Sequence[float] | None, columns: int) -> Scale:
        if bounds is None:
            return cls((0.0,) * columns, (1.0,) * columns, clipped=False)
        try:
            lower, upper = (np.broadcast_to(np.asarray(end, np.float64), (columns,)) for end in bounds)
        except (TypeError, ValueError):
            raise ValueError(
                f"bounds must be (lower, upper), each one number or {columns} numbers, one per column; "
                "they must be public knowledge, not read from the data"
            ) from None
        if not (np.isfinite(lower).all() and np.isfinite(upper).all() and (lower < upper).all()):
            raise ValueError(
                f"bounds need finite lower < upper in every column, got {bounds!r}; they must be public "
                "knowledge, not read from the data"
            )
        centre, half = lower + (upper - lower) / 2, (upper - lower) / 2
        return cls(tuple(centre.tolist()), tuple(half.tolist()), clipped=True)

    def __call__(self, x: Floats) -> Floats:
        if not self.clipped:
            return x
        with np.errstate(over="ignore"):  # a warning would tell that some record lies far out
            return np.asarray(np.clip((x - np.array(self.centre)) / np.array(self.half), -1.0, 1.0))

    def design(self, names: Sequence[str]) -> tuple[Feature, ...]:
        columns = zip(names, self.centre, self.half, strict=True)
        return tuple(Feature(name, centre, half) for name, centre, half in columns)

    def unscaled(self, weights: Floats) -> tuple[Floats, Floats]:
        """Rewrite weights of scaled columns as (coefficients of columns as given, what the centres add)."""
        coefficients = weights / np.array(self.half)
        return coefficients, -coefficients @ np.array(self.centre)


def bounds_needed(bounds: object, columns: int) -> Scale:
    """Return the declared bounds; refuse where there are none."""
    if bounds is None:
        raise ValueError(
            "bounds=(lower, upper) are missing: each one number, or one for each column; values beyond are "
            "clipped. They set how much one record may matter, so they must be public knowledge, not read "
            "from the data: what the columns can hold, e.g. an age of 0 to 100, or what is usual elsewhere"
        )
    return Scale.of(bounds, columns)  # type: ignore[arg-type]  # checked there


def target_of(names: Sequence[str]) -> str:
    """Call the answers y, or something that no column is called."""
    return "y" if "y" not in names else "_".join(("y", *names))


def ends_of(scale: Scale, i: int) -> dict[str, Any]:
    """Write the bounds of a column as a schema does."""
    if not scale.clipped:
        return {"kind": "number"}
    return {
        "kind": "bounded",
        "lower": scale.centre[i] - scale.half[i],
        "upper": scale.centre[i] + scale.half[i],
    }


def norm_of(norm: Exact | None, scale: Scale) -> Exact:
    """Return the length that rows are cut to: as declared or, of columns in [−1, 1], their √d."""
    if norm is not None:
        return norm
    if not scale.clipped:
        raise ValueError(
            "norm is missing: the length that longer rows are scaled down to. It sets how much one record "
            "may matter, so it must be public knowledge, not read from the data; or declare bounds="
            "(lower, upper) of the columns, which are then scaled to [−1, 1]"
        )
    fine = 2**20
    return Fraction(isqrt(len(scale.half) * fine**2) + 1, fine)
