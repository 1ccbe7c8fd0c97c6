"""Counts behind noise: Dirichlet families and naive Bayes."""
