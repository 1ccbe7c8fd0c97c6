"""Where rows live: files, frames and databases, opened without reading a value."""
