"""The rounded hinge: its derivatives, its bounds, its corners."""

import numpy as np
import pytest

from discreet.models.hinge import HuberHinge


@pytest.mark.parametrize("width", [1, 0.5, 1 / 64])
def test_slope_and_bend_are_derivatives_within_their_bounds(width):
    loss, s = HuberHinge(width), np.linspace(-4, 4, 8001) + 1e-4
    for y in (-1.0, 1.0):
        answers, step = np.full_like(s, y), 1e-6
        up, down = s + step, s - step
        slope = (loss.value(up, answers) - loss.value(down, answers)) / (2 * step)
        assert loss.slope(s, answers) == pytest.approx(slope, abs=1e-4)
        bend = (loss.slope(up, answers) - loss.slope(down, answers)) / (2 * step)
        away = np.abs(np.abs(1 - y * s) - width) > 1e-5  # from the two corners of the slope
        assert loss.bend(s, answers)[away] == pytest.approx(bend[away], abs=1e-6)
        assert np.abs(loss.slope(s, answers)).max() == float(loss.lipschitz)
        assert loss.bend(s, answers).max() == pytest.approx(float(loss.curvature))


def test_it_is_the_hinge_away_from_its_corner_and_an_unknown_label_counts_for_nothing():
    loss, s = HuberHinge(0.5), np.array([-2.0, 0.4, 1.6, 3.0])
    assert (loss.value(s, np.ones(4)) == np.maximum(1 - s, 0)).all()
    nothing = loss.admissible(np.array([np.nan, 0.0, 0.0, 0.0]))
    assert not loss.value(s, nothing).any()
    assert not loss.slope(s, nothing).any()
    assert not loss.bend(s, nothing).any()


@pytest.mark.parametrize("width", [2, 0.001])
def test_a_width_that_doubles_do_not_resolve_is_refused(width):
    with pytest.raises(ValueError, match="width of the rounded corner"):
        HuberHinge(width)
