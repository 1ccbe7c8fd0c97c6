"""What the service remembers beside the ledger: people, tokens, tables, jobs. Nothing private is in it."""
