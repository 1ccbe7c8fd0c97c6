"""Mixtures behind noisy counts."""
