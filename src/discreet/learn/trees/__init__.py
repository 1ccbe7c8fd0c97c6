"""Trees and additive models: public partitions, noisy counts and sums, read with the noise in mind."""
