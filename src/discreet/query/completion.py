"""What may come next where the cursor stands: names, columns, levels, functions. For a query box."""

from __future__ import annotations

import re

from discreet.query.expression import FUNCTIONS
from discreet.query.text import LONGEST, quoted
from discreet.query.vocabulary import Vocabulary

MOST = 50
BESIDE = re.compile(r'(?:"((?:[^"]|"")*)"|([^\W\d]\w*))\s*==?\s*$')


def complete(text: str, vocabulary: Vocabulary, at: int | None = None) -> list[str]:
    """Return what may replace the unfinished word before the cursor, at most 50, as a query has it."""
    before = text[: len(text) if at is None else at][-LONGEST:]
    quotes_closed = before.count('"') % 2 == 0
    found = re.search(r"\w*$", before) if quotes_closed else re.search(r'"[^"]*$', before)
    start = found.start() if found else len(before)
    typed = before[start:].lstrip('"').casefold()
    offered = _offered(before[:start], vocabulary)
    return [word for word in offered if word.lstrip('"').casefold().startswith(typed)][:MOST]


def _offered(before: str, vocabulary: Vocabulary) -> list[str]:
    plain = re.sub(r'"(?:[^"]|"")*"', lambda m: "_" * len(m.group()), before)
    if plain.count("[") <= plain.count("]"):
        forms = ["E[", "P["] if vocabulary.levels else []
        return [*map(quoted, vocabulary.parameters), *(f"{name}(" for name in FUNCTIONS), *forms]
    beside = BESIDE.search(before)
    if beside is None:
        return [quoted(column) for column in vocabulary.levels]
    column = beside.group(2) or beside.group(1).replace('""', '"')
    return [quoted(level) for level in vocabulary.levels.get(column, ())]
