"""Pictures of the report, as SVG."""
