"""What left the building: the release, its certificate, its files, its receipt."""
