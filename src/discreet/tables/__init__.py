"""Private tables behind a public schema: rows never leave, and every engine gives the same integers."""
