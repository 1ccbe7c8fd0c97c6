"""The hidden Markov case study: states of regions by month, and prediction against ε."""
