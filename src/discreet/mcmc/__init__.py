"""Private Markov chains: kernels (init, step), each with a guarantee."""
