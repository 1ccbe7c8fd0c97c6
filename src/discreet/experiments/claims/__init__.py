"""Every quantitative claim of the five documents that this library grew from, each computed and judged."""
