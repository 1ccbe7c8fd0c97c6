"""What a broken twin is: a mechanism with one known mistake, under the claim it would deserve without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from discreet.audit.case import Build, Case, Cases


@final
@dataclass(frozen=True)
class Twin:
    """BROKEN ON PURPOSE, never for use: the audit must refute its claim in the tiers named."""

    mechanism: str  # whose twin it is, by its name in mechanisms/registry.py
    mistake: str
    tiers: frozenset[int]  # 1: the exact profile exceeds the claim; 2: 1e5 runs a side do
    case: Callable[[], Case]


BOTH = frozenset({1, 2})
EXACT_ONLY = frozenset({1})  # the excess is too small for 1e5 runs to show it surely
RUNS_ONLY = frozenset({2})  # the law over the reals is right; its floating point is not


class Twins(dict[str, Twin]):
    """Twins by name, which begins with the mechanism's; @twin("laplace/float", "what is wrong") adds one."""

    def __call__(self, name: str, mistake: str, tiers: frozenset[int] = BOTH) -> Callable[[Build], Build]:
        def declare(build: Build) -> Build:
            built = Cases()
            built(name)(build)
            self[name] = Twin(name.partition("/")[0], mistake, tiers, built[name])
            return build

        return declare
