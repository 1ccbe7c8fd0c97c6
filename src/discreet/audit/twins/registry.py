"""Every broken twin by name. They exist to be caught: an audit that lets one pass is itself broken."""

from discreet.audit.twins import (
    choice,
    counts,
    grouped,
    hmm,
    learners,
    local,
    mcmc,
    median,
    metric,
    noise,
    objective,
    plain,
    posterior,
    regression,
    trees,
)

_TABLES = (
    *(noise.twin, choice.twin, median.twin, posterior.twin, regression.twin, counts.twin),
    *(metric.twin, mcmc.twin, hmm.twin, objective.twin, local.twin),
    *(learners.twin, trees.twin),
    grouped.twin,
    plain.twin,
)
TWINS = {name: twin for table in _TABLES for name, twin in table.items()}
