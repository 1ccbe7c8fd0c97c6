"""`discreet serve` and `discreet service`: private tables over HTTP, and what their owner sets up."""
