"""Mechanisms that choose: exponential, permute-and-flip, noisy maximum."""
