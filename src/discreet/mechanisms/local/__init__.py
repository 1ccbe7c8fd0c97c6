"""Randomised response, and kernels that hide which profile an observation came from."""
