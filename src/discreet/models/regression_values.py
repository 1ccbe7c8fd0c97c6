"""What a regression mechanism is given, from encoded rows in memory: their records, or sums over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.models.regression_records import Records
from discreet.models.signed_moments import signed_moments

# Mechanism.reads → (model, features, answers) ↦ the value that its release takes
VALUES: dict[str, Callable[..., Any]] = {"records": Records.of, "moments": signed_moments}
