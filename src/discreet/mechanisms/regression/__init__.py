"""Regressions released by perturbed objectives, noisy moments or posterior draws."""
