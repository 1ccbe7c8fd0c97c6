"""Rows that a user brings, in the labels of a public schema: encoded as private rows are, and decoded."""
