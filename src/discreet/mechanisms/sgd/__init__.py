"""Noisy projected gradient descent, and losses with the constants that its price rests on."""
