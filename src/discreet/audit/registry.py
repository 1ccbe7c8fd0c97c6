"""Every case by name, built when asked for. A name is its mechanism's, then a variant: `diffused/beta`."""

from discreet.audit.cases import (
    choice,
    counts,
    hmm,
    local,
    mcmc,
    median,
    moments,
    network,
    noise,
    objective,
    posterior,
    regression,
    statistics,
)

_TABLES = (
    *(noise.case, choice.case, median.case, posterior.case, regression.case, statistics.case, counts.case),
    *(network.case, mcmc.case, hmm.case, objective.case, moments.case, local.case),
)
CASES = {name: build for table in _TABLES for name, build in table.items()}
