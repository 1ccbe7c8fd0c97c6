"""One attack per mechanism: its worst pair of data sets, an event, and the exact profile computed apart."""
