"""Normal families and linear regression behind noisy moments."""
