"""The papers' figures, drawn by the library's own mechanisms."""

from discreet.lazy import public

__getattr__, __all__ = public(
    __name__,
    {
        "registry": "EXPERIMENTS find",
        "profiles.picture": "draw_graph",
    },
)
