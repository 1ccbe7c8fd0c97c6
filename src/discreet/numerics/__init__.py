"""Searches and solvers over plain numbers."""
