"""The HTTP interface of the service: routes, refusals, who may ask, and how fast."""
