"""Attacks on the mechanisms, and broken twins that the attacks must catch."""

from discreet.lazy import public

__getattr__, __all__ = public(
    __name__,
    {
        "registry": "run",
    },
)
