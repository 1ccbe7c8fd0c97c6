"""What happens to a guarantee when data are transformed before the mechanism sees them."""

from __future__ import annotations

from discreet.mechanisms.checks import positive
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee


def preprocess(guarantee: Guarantee, kappa: Exact) -> Guarantee:
    """M∘T for T with d(Tx, Tx') ≤ κ d(x, x') in records: the guarantee for groups of ⌊κ⌋ [theory §3].

    ε becomes κε, and δ follows group privacy. Distances count records, so κ is as good as its floor; below 1,
    T would be constant, and no more is claimed than the guarantee itself. Post-processing is free.
    """
    return guarantee.group(max(1, positive(kappa, "the Lipschitz constant").__floor__()))
