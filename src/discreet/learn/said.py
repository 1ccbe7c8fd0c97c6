"""What a fitted estimator says of itself: intervals in units of its columns, certificate, report."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet import __version__
from discreet.line.calibrate import parameters
from discreet.models.margin_losses import Floats
from discreet.posteriors.posterior import LEVEL, Posterior
from discreet.privacy.json import to_json
from discreet.release.json import canonical, digest
from discreet.release.receipt import GENESIS, Receipt
from discreet.release.release import Release
from discreet.report import report

if TYPE_CHECKING:
    import pandas as pd

    from discreet.learn.noisy import NoisyLearner
    from discreet.privacy.guarantee import Guarantee

UNPAID = "no ledger was given: nothing records what was spent"


class Said:
    """Summary, certificate and page of what models of the catalogue say; free, as the release is public."""

    functional_: NoisyLearner | None = None  # what method="functional" of a regression was fitted by

    if TYPE_CHECKING:
        posterior_: Any
        receipt_: Receipt | None
        mechanism_: Any
        guarantee_: Guarantee
        target_: Guarantee
        seeded_: bool

        def _values(self) -> tuple[Any, ...]: ...

        def _schema(self) -> dict[str, Any]: ...

    @property
    def _posteriors_(self) -> tuple[Posterior, ...]:
        check_is_fitted(self)
        held = self.posterior_
        return held if isinstance(held, tuple) else (held,)

    def _titles(self) -> list[Any]:
        """Name the fits, where there are several."""
        return list(getattr(self, "classes_", range(len(self._posteriors_))))

    @property
    def summary_(self) -> pd.DataFrame:
        """Mean, deviation and 90 % interval of every coefficient; of several fits by class."""
        if self.functional_ is not None:
            return self.functional_.summary_
        import pandas as pd  # noqa: PLC0415 - heavy

        frames = [posterior.summary() for posterior in self._posteriors_]
        if len(frames) == 1:
            return frames[0]
        return pd.concat(dict(zip(self._titles(), frames, strict=True)), names=["class"]).reset_index(level=0)

    # ── for the people who sign ──
    @property
    def releases_(self) -> tuple[Release, ...]:
        """What was released, as `privatise` returns it: one for each fit."""
        check_is_fitted(self)
        return tuple(self._release(value) for value in self._values())

    @property
    def certificate_(self) -> dict[str, Any]:
        """What was promised, and why; of several fits for all of them together."""
        if self.functional_ is not None:
            return self.functional_.certificate_
        return self.releases_[0].certificate()

    def report(self, path: str | Path) -> Path:
        """Write one page about the fit; of several one page for each class, beside each other."""
        if self.functional_ is not None:
            return self.functional_.report(path)
        place, releases = Path(path).expanduser(), self.releases_
        if len(releases) == 1:
            place.write_text(report(releases[0]), encoding="utf-8")
            return place
        for i, release in enumerate(releases):
            page = place.with_name(f"{place.stem}-{i + 1}{place.suffix}")
            page.write_text(report(release), encoding="utf-8")
        return place.parent

    def _release(self, value: Any) -> Release:  # noqa: ANN401 - a released value
        ready, schema = self.mechanism_, {"columns": self._schema()}
        model = value.model
        return Release(
            value=value,
            model=model,
            mechanism=ready.single.name,
            parameters=parameters(ready),
            theorem=ready.theorem,
            guarantee=self.guarantee_,
            target=self.target_,
            n=ready.n,
            unit=None,
            rows_per_unit=1,
            columns=tuple(schema["columns"]),
            selection=None,
            schema_hash=digest(schema),
            schema_text=canonical(schema),
            version=__version__,
            created=self._receipt().at,
            receipt=self._receipt(),
            seeded=self.seeded_,
        )

    def _receipt(self) -> Receipt:
        if self.receipt_ is not None:
            return self.receipt_
        return unpaid(self.guarantee_)


class SaidOfLine(Said):
    """Beside `coef_` and `intercept_`, in the same units."""

    if TYPE_CHECKING:
        n_features_in_: int
        intercept: bool
        coef_: Any

    def interval(self, level: float = LEVEL) -> Floats:
        """Equal-tailed intervals of `coef_`, its shape and then both ends."""
        if self.functional_ is not None:
            return self.functional_.interval(level).reshape((*np.shape(self.coef_), 2))
        each = [p.flat_interval(level)[: self.n_features_in_] for p in self._posteriors_]
        return np.asarray(each if np.ndim(self.coef_) == 2 else each[0])

    @property
    def coef_interval_(self) -> Floats:
        """90 % intervals of `coef_`."""
        return self.interval()

    @property
    def intercept_interval_(self) -> Floats:
        """90 % intervals of `intercept_`; of a line without one there is none."""
        if not self.intercept:
            raise AttributeError("the model has no intercept: intercept=False")
        if self.functional_ is not None:
            raise AttributeError("method='functional' has no interval of the intercept")
        each = [p.flat_interval(LEVEL)[self.n_features_in_] for p in self._posteriors_]
        return np.asarray(each if np.ndim(self.coef_) == 2 else each[0])


def unpaid(guarantee: Guarantee) -> Receipt:
    """Say in a receipt's place that there is no ledger behind a fit."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Receipt("none", ("no ledger",), to_json(guarantee), UNPAID, now, 0, GENESIS, GENESIS)
