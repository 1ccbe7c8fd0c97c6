"""What a user types: options, expressions and job files, as values."""
