"""The command `discreet`: one file per command, and `command` where they meet."""

from discreet.cli.command import app, main

__all__ = ["app", "main"]
