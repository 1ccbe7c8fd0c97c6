"""Privacy under a metric: distances, the promise, Lipschitz constants, and what can be told from answers."""
