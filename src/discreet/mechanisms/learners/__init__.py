"""Noisy sums that classic learners are read from: moments by class, clusters, second moments."""
