"""Columns written as TOML; the standard library only reads it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def toml_column(name: str, declared: Mapping[str, Any], note: str = "") -> str:
    """One [columns.NAME] table; JSON's texts, numbers and lists are TOML's too."""
    lines = [f"{key} = {_toml(value)}" for key, value in declared.items()]
    head = f"[columns.{_toml(name)}]"
    return "\n".join([f"{head}  # {note}" if note else head, *lines, ""])


def _toml(value: object) -> str:
    """JSON, but for the one control character that JSON leaves as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
