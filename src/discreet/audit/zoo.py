"""Every broken twin by name. They exist to be caught: an audit that lets one pass is itself broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.audit.zoo_choice import CHOICE_TWINS
from discreet.audit.zoo_counts import COUNT_TWINS
from discreet.audit.zoo_float import FLOAT_TWINS
from discreet.audit.zoo_hmm import HMM_TWINS
from discreet.audit.zoo_local import LOCAL_TWINS
from discreet.audit.zoo_mcmc import MCMC_TWINS
from discreet.audit.zoo_median import MEDIAN_TWINS
from discreet.audit.zoo_moments import MOMENT_TWINS
from discreet.audit.zoo_network import NETWORK_TWINS
from discreet.audit.zoo_noise import NOISE_TWINS
from discreet.audit.zoo_objective import OBJECTIVE_TWINS
from discreet.audit.zoo_posterior import POSTERIOR_TWINS
from discreet.audit.zoo_regression import REGRESSION_TWINS

if TYPE_CHECKING:
    from discreet.audit.twin import Twin

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
