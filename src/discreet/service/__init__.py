"""The service: private tables behind HTTP, for many analysts, each within budgets that the owner sets."""
