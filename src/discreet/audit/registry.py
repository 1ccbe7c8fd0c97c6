"""Every case by name, built when asked for. A name is its mechanism's, then a variant: `diffused/beta`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.audit.cases.choice import CHOICE_CASES
from discreet.audit.cases.counts import COUNT_CASES
from discreet.audit.cases.hmm import HMM_CASES
from discreet.audit.cases.local import LOCAL_CASES
from discreet.audit.cases.mcmc import MCMC_CASES
from discreet.audit.cases.median import MEDIAN_CASES
from discreet.audit.cases.moments import MOMENT_CASES
from discreet.audit.cases.network import NETWORK_CASES
from discreet.audit.cases.noise import NOISE_CASES
from discreet.audit.cases.objective import OBJECTIVE_CASES
from discreet.audit.cases.posterior import POSTERIOR_CASES
from discreet.audit.cases.regression import REGRESSION_CASES
from discreet.audit.cases.statistics import STATISTIC_CASES

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.audit.case import Case

CASES: dict[str, Callable[[], Case]] = {
    **NOISE_CASES,
    **CHOICE_CASES,
    **MEDIAN_CASES,
    **POSTERIOR_CASES,
    **REGRESSION_CASES,
    **STATISTIC_CASES,
    **COUNT_CASES,
    **NETWORK_CASES,
    **MCMC_CASES,
    **HMM_CASES,
    **OBJECTIVE_CASES,
    **MOMENT_CASES,
    **LOCAL_CASES,
}
