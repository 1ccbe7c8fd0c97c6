"""Ball arithmetic: bounds that are proved, rounded to the private side."""
