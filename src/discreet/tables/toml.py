"""Columns written as TOML; the standard library only reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from discreet.shown import visible


def toml_column(name: str, declared: Mapping[str, Any], note: str = "") -> str:
    """One [columns.NAME] table; JSON's texts, numbers and lists are TOML's too."""
    lines = [f"{key} = {_toml(value)}" for key, value in declared.items()]
    head = f"[columns.{_toml(name)}]"
    return "\n".join([f"{head}  # {note}" if note else head, *lines, ""])


def _toml(value: object) -> str:
    """JSON, but for characters that a terminal would obey: those as TOML's own escapes."""
    return "".join(_escaped(c) for c in json.dumps(value, ensure_ascii=False))


def _escaped(character: str) -> str:
    if visible(character) == character:
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 2**16 else f"\\U{code:08x}"
