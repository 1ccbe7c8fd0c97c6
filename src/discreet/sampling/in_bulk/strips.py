"""The half-normal curve under a histogram with integer weights: one word proposes a normal draw, exactly.

f(x) = exp(−x²/2) falls, so strip [i, i+1]/32 holds it under f(i/32) ≤ WEIGHTS[i]/HEIGHT; beyond 4 it lies
under e⁻⁸·e^(−4y), y = x − 4. The low 12 bits of a word choose a strip through TABLE (strip i has WEIGHTS[i]
of 4096 entries), bit 12 is the sign, the other 51 bits are a uniform U: x = (i + U)/32, or 4 − ln(U)/4 in
the tail. Accepted with probability HEIGHT·f(x)/WEIGHTS[i], or 8·HEIGHT·e⁻⁸·e^(−y²/2)/WEIGHTS[TAIL], every
x ≥ 0 has density ∝ f(x).
"""

from __future__ import annotations

import math

import numpy as np

TAIL = 128
HEIGHT = 99
FRACTION_BITS = 51
# the factor is there for the rounding of exp; any integer weight ≥ HEIGHT·f(i/32) gives the same law
_CURVE = [HEIGHT * math.exp(-((i / 32) ** 2) / 2) for i in range(TAIL + 1)]
_BODY = [math.ceil(f * (1 + 1e-12)) for f in _CURVE[:TAIL]]
WEIGHTS = np.array([*_BODY, 4096 - sum(_BODY)], dtype=np.int64)
TABLE = np.repeat(np.arange(TAIL + 1, dtype=np.uint8), WEIGHTS)
# surely accepted below: the acceptance probability at the strip's right end, rounded down; never in the tail
QUICK = np.array([_CURVE[i + 1] / WEIGHTS[i] * (1 - 1e-12) for i in range(TAIL)] + [0.0])
# logarithm of the acceptance probability at x = 0, resp. y = 0; absolute error < 1e-14, sums included
LOG_LEVELS = np.array(
    [math.log(HEIGHT / int(n)) for n in WEIGHTS[:TAIL]] + [math.log(8 * HEIGHT / int(WEIGHTS[TAIL])) - 8]
)
LOG_LEVEL_ERROR = 1e-14
