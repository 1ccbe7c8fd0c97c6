"""What a user types: options and job files, as values."""
