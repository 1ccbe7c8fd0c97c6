"""Draws of a regression's weights: Langevin, rejection, proximal; with the price of not being exact."""
