"""Learners that need no y: clusters, components, standardised columns."""
