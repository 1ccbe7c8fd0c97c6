"""Noise on exact integer statistics: one vector, tables of counts, several tiers."""
