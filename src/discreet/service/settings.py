"""How a service is set up: `service.toml` in its folder; addresses with passwords from the environment."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, final

from discreet.shown import address

FILE, STATE, BUDGET = "service.toml", "state.db", "budget.db"
FOLDER, DATABASE = "DISCREET_SERVICE", "DISCREET_DATABASE"  # variables of the environment
WORKERS = "DISCREET_WORKERS"  # how many share a rate limit
DEFAULT = """# Settings of `discreet serve`; what is left out has its default.
# database = "postgresql://user@host/base"   # ledger and state; or in the variable DISCREET_DATABASE
# wait = 0.5              # seconds after which an answer leaves, however early it was ready; then twice that
# approve_above = 1.0     # ε above which a second person approves
# timeout = 60            # seconds that a reading may take
# planning = 900          # seconds that a plan may take; what takes longer than a few is polled
# longest = 3600          # seconds that a release may take
# rate = 50               # requests a second of one person, divided among the workers
# burst = 200
# body = 65536            # bytes of a request
# processes = 1           # that compute, in each worker
# session_hours = 12
#
# [openid]                # sign-in by OpenID Connect
# issuer = "https://identity.example.org"
# client_id = "discreet"
# redirect = "https://discreet.example.org/v1/session/openid/callback"
# secret = "openid.secret"                 # a file in this folder
# claim = "email"                          # whose value is the name of the person
"""


@final
@dataclass(frozen=True)
class OpenId:
    """Where people sign in: a provider, and what it knows this service as."""

    issuer: str
    client_id: str
    redirect: str
    secret: str = ""  # a file, relative to the folder; none for a public client
    claim: str = "email"


@final
@dataclass(frozen=True)
class Settings:
    """All that a worker needs to know; plain, so that it can be sent to other processes."""

    folder: str
    database: str = ""  # a PostgreSQL URL for state and ledger; empty: files in the folder
    wait: float = 0.5
    approve_above: float | None = None
    timeout: float = 60
    planning: float = 900
    longest: float = 3600
    rate: float = 50
    burst: int = 200
    body: int = 65536
    processes: int = 1
    session_hours: float = 12
    workers: int = 1  # of one `discreet serve`, which says how many it starts
    openid: OpenId | None = None

    def __post_init__(self) -> None:
        for name in (
            "timeout",
            "planning",
            "longest",
            "rate",
            "burst",
            "body",
            "processes",
            "session_hours",
            "workers",
        ):
            if not 0 < getattr(self, name) < 1e9:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)!r}; see {FILE}")
        if not 0 <= self.wait <= 60:
            raise ValueError(f"wait is a number of seconds from 0 to 60, got {self.wait!r}; see {FILE}")

    @property
    def state(self) -> str:
        return self.database or str(Path(self.folder) / STATE)

    @property
    def ledger(self) -> str:
        return self.database or str(Path(self.folder) / BUDGET)

    def secret(self) -> str | None:
        """Read the client's secret of the provider."""
        if self.openid is None or not self.openid.secret:
            return None
        return (Path(self.folder) / self.openid.secret).read_text(encoding="utf-8").strip()

    def __repr__(self) -> str:
        return f"Settings({self.folder!r}, database={address(self.database)!r})"


def load(folder: str | Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings of a folder."""
    home = Path(folder).expanduser().resolve()
    if not (home / FILE).exists():
        raise ValueError(f"{home} holds no service; start one: discreet service init {home}")
    try:
        written = tomllib.loads((home / FILE).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{home / FILE} is not valid TOML: {error}") from None
    found: dict[str, Any] = {**written, "folder": str(home)}
    _refuse_strangers(found, Settings, FILE)
    if "openid" in found:
        _refuse_strangers(found["openid"], OpenId, f"[openid] of {FILE}")
        found["openid"] = OpenId(**found["openid"])
    said = {"database": environment.get(DATABASE), "workers": int(environment.get(WORKERS, 0))}
    return Settings(**{**found, **{name: value for name, value in said.items() if value}})


def _refuse_strangers(found: Mapping[str, Any], kind: type[Settings | OpenId], where: str) -> None:
    known = {f.name for f in fields(kind)}
    strange = sorted(set(found) - known)
    if strange:
        raise ValueError(f"{where} has unknown keys {', '.join(strange)}; known: {', '.join(sorted(known))}")


def write(folder: str | Path) -> Path:
    """Start the folder of a new service."""
    home = Path(folder).expanduser()
    if (home / FILE).exists():
        raise FileExistsError(f"{home / FILE} exists: this service was started before")
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    (home / FILE).write_text(DEFAULT, encoding="utf-8")
    return home
