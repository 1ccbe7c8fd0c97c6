"""Figures of profile-based privacy, and pictures of profile graphs."""
