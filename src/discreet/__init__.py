"""discreet: Bayesian inference that can be published."""

__version__ = "0.1.0"
