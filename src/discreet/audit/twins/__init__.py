"""Deliberately broken mechanisms, each with the audit that must catch it."""
