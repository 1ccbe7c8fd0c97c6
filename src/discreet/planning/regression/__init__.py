"""Plans of regressions, by simulation."""
