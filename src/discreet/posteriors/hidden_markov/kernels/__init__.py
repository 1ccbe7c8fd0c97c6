"""Compiled sweeps of the hidden Markov chains."""
