"""Three samplers, one law: compiled kernels, kernels with inflated bounds, and ball arithmetic alone."""

import pytest

from discreet.sampling.in_bulk import batches

PATHS = {
    "kernels": (1.0, 0, 100_000),
    "inflated": (
        2.0**38,
        0,
        1_200,
    ),  # bounds so wide that most cells and many decisions go to ball arithmetic
    "balls": (1.0, 10**9, 1_200),
}


@pytest.fixture(params=list(PATHS))
def path(request, monkeypatch):
    """Choose the sampler; yields how many draws it can afford."""
    inflate, few, size = PATHS[request.param]
    monkeypatch.setattr(batches, "INFLATE", inflate)
    monkeypatch.setattr("discreet.sampling.exact.FEW", few)
    monkeypatch.setattr(batches, "FEW", few)
    return size
