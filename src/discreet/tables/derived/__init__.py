"""Derived columns and filters: a closed set of operations with known bounds."""
