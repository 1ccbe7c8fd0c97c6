"""Docstrings are formulas in plain text: keep Markdown from reading their stars, brackets and underscores."""

import re
from typing import Any

import griffe

CODE = re.compile(r"(`[^`]*`)")


def escaped(text: str) -> str:
    """Escape what Markdown would take for markup, outside of code."""
    parts = CODE.split(text)
    return "".join(
        part if CODE.fullmatch(part) else re.sub(r"([*_\[\]<>|#~])", r"\\\1", part) for part in parts
    )


class Plain(griffe.Extension):
    """Escape every docstring once, as it is loaded."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:  # noqa: ANN401, ARG002
        if obj.docstring and not obj.is_alias:
            obj.docstring.value = escaped(obj.docstring.value)
