"""Laplace, Gaussian and Ornstein–Uhlenbeck noise, on the line and on the integers."""
