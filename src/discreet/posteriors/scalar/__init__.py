"""One parameter behind one noisy sum, by quadrature."""
