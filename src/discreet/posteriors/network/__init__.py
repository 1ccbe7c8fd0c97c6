"""Bayesian networks behind noisy counts: together, or table by table."""
