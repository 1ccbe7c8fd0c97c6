"""The thesis' figures of posterior sampling: curves, errors, divergences, held-out records."""
