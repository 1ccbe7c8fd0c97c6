"""Weights of a regression: perturbed fits, noisy polynomial moments, released draws."""
