"""Composition, conversions between kinds of guarantees, and filters for budgets."""
