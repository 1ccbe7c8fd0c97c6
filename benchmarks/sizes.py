"""How large a run is: as a script has it or, with --tiny, so small that only its names and shapes are tried.

The tests run every script tiny. The word is taken out of the arguments before a script reads its own.
"""

import sys

TINY = "--tiny" in sys.argv
if TINY:
    sys.argv.remove("--tiny")


def sized(full, tiny):
    """Return the size to run at."""
    return tiny if TINY else full
