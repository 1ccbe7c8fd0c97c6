"""`python -m discreet` is the command."""

from discreet.cli import main

main()
