"""Noise fitted to the data at hand: smooth sensitivity, propose-test-release, sample-and-aggregate."""
