"""Every broken twin by name. They exist to be caught: an audit that lets one pass is itself broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.audit.twins.choice import CHOICE_TWINS
from discreet.audit.twins.counts import COUNT_TWINS
from discreet.audit.twins.float import FLOAT_TWINS
from discreet.audit.twins.hmm import HMM_TWINS
from discreet.audit.twins.local import LOCAL_TWINS
from discreet.audit.twins.mcmc import MCMC_TWINS
from discreet.audit.twins.median import MEDIAN_TWINS
from discreet.audit.twins.moments import MOMENT_TWINS
from discreet.audit.twins.network import NETWORK_TWINS
from discreet.audit.twins.noise import NOISE_TWINS
from discreet.audit.twins.objective import OBJECTIVE_TWINS
from discreet.audit.twins.posterior import POSTERIOR_TWINS
from discreet.audit.twins.regression import REGRESSION_TWINS

if TYPE_CHECKING:
    from discreet.audit.twins.twin import Twin

TWINS: dict[str, Twin] = {
    **FLOAT_TWINS,
    **NOISE_TWINS,
    **CHOICE_TWINS,
    **MEDIAN_TWINS,
    **POSTERIOR_TWINS,
    **REGRESSION_TWINS,
    **COUNT_TWINS,
    **NETWORK_TWINS,
    **MOMENT_TWINS,
    **MCMC_TWINS,
    **HMM_TWINS,
    **OBJECTIVE_TWINS,
    **LOCAL_TWINS,
}
