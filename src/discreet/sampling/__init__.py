"""Exact draws: the ideal real draw rounded to a public grid; the only place where randomness enters."""

from discreet.lazy import public

__getattr__, __all__ = public(__name__, {"exact": "*"})
