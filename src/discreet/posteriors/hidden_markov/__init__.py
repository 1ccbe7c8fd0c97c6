"""Hidden Markov models behind noisy counts: chains, labels, answers."""
