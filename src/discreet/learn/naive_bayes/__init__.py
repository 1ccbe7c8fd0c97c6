"""Naive Bayes from noisy moments, and from noisy counts."""
