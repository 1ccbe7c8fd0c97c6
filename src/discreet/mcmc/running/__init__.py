"""Runs of private chains: plans, checkpoints, what the last step releases."""
