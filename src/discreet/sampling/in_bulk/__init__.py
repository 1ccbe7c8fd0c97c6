"""Many exact draws at once: compiled kernels first, ball arithmetic for what they leave open."""
