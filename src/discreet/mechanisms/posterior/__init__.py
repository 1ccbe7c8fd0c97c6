"""One draw from a posterior as the release: direct, diffused, concentrated, tempered."""
