"""Constants of a loss hold on a ball of weights; a trainer that may leave it is refused."""

import math

import numpy as np
import pytest

from discreet.mechanisms.sgd.losses import Loss, logistic_loss, ridge_loss
from discreet.mechanisms.sgd.noisy_projected_sgd import NoisyProjectedSGD
from discreet.privacy.kinds import ApproxDP

SETTING = {"n": 50, "dimension": 2, "target": ApproxDP(1, 1e-5)}


def test_a_loss_declared_for_a_ball_is_not_trained_outside_of_it():
    """It promised (1, 1e-5) with constants of ‖w‖ ≤ 1 while w walked to 1000, where δ(1) was .73."""
    loss = ridge_loss(norm=1.0, largest=1.0, radius=1.0)
    with pytest.raises(ValueError, match=r"‖w‖ ≤ 1, and a radius of 1000 .*radius=1000"):
        NoisyProjectedSGD.calibrate(loss, radius=1000.0, **SETTING)
    fine = NoisyProjectedSGD.calibrate(loss, radius=1.0, **SETTING)
    with pytest.raises(ValueError, match="constants of this loss"):
        NoisyProjectedSGD(loss=loss, radius=1000.0, dimension=2, run=fine.run)
    NoisyProjectedSGD.calibrate(ridge_loss(norm=1.0, largest=1.0, radius=1000.0), radius=1000.0, **SETTING)


def test_the_constants_hold_on_the_ball_and_not_beyond():
    loss, rng = ridge_loss(norm=1.0, largest=1.0, radius=2.0), np.random.default_rng(3)

    def steepest(length):
        w = length * directions
        return max(np.linalg.norm(loss.gradient(a, -b, 1.0)) for a, b in zip(w, directions, strict=True))

    directions = rng.normal(size=(50, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True) * (1 + 1e-12)
    assert steepest(2.0) <= loss.lipschitz < steepest(2.1)


def test_losses_without_such_a_ball_go_anywhere():
    assert logistic_loss(norm=1.0).radius == math.inf
    NoisyProjectedSGD.calibrate(logistic_loss(norm=1.0), radius=1000.0, **SETTING)


@pytest.mark.parametrize("radius", [0.0, -1.0, math.nan])
def test_a_ball_needs_a_radius(radius):
    with pytest.raises(ValueError, match="radius"):
        Loss(np.dot, 1.0, 1.0, 1.0, radius=radius)
