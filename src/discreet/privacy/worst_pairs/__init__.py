"""Worst neighbouring posteriors, and the exact loss between them."""
