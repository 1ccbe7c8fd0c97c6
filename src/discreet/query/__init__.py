"""Questions about θ in a small language: parsed, never run as code, answered from what was released."""

from discreet.lazy import public

__getattr__, __all__ = public(
    __name__,
    {
        "query": "Query QueryAnswer parse",
        "vocabulary": "Vocabulary",
        "completion": "complete",
        "ways": "Ways compare maximum",
        "picture": "told draw_told",
        "text": "QueryError quoted LONGEST",
    },
)
