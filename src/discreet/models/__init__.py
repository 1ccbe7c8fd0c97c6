"""What users fit beyond one family: counts over many cells, and what they mean together."""
