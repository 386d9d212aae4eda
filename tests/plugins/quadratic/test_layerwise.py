"""Frozen means frozen, and the baseline is given every chance."""

import numpy as np
import pytest
from bfc_plugins.quadratic.layerwise import Layerwise
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet
from teacher_fits import fit, nmse, problem

SMALL = {"widths": (6, 4), "steps": 60, "batch_size": 32}
PROBLEM = problem()


@pytest.mark.parametrize("readout", ["sum", "signed"])
def test_lower_layers_stay_frozen_bitwise(readout):
    fitted = fit(Layerwise(**{**SMALL, "widths": (6, 4, 3)}, readout=readout), PROBLEM, 100)
    assert list(fitted.stages) == ["layer2", "layer3", "layer4"]
    for name, stage in fitted.stages.items():
        features = stage.hidden(PROBLEM.test_x)
        assert list(features) == [f"S{layer}" for layer in range(2, int(name[5:]) + 1)]
        for layer, value in features.items():
            np.testing.assert_array_equal(value, fitted.hidden(PROBLEM.test_x)[layer])
    np.testing.assert_array_equal(fitted.stages["layer4"].predict(PROBLEM.test_x), fitted.predict(PROBLEM.test_x))


def test_each_stage_improves_and_signed_readouts_help():
    options = {"widths": (10, 6), "steps": 1500}
    plain, signed = (fit(Layerwise(**options, readout=readout), PROBLEM, 500) for readout in ("sum", "signed"))
    assert nmse(plain.stages["layer2"], PROBLEM) > nmse(plain, PROBLEM) > nmse(signed, PROBLEM)
    # Stage 2 knows nothing of read-outs: both variants share it.
    np.testing.assert_array_equal(
        plain.stages["layer2"].predict(PROBLEM.test_x), signed.stages["layer2"].predict(PROBLEM.test_x)
    )
    assert len(plain.info["stage_losses"]) == 2
    assert plain.info["final_loss"] == plain.info["stage_losses"][-1]


def test_a_rate_that_the_user_sets_is_kept():
    assert Layerwise(lr=0.01).rate(10) == QuadDenseNet(lr=0.01).rate(10) == 0.01


@pytest.mark.parametrize("learner", [QuadDenseNet, Layerwise])
def test_passes_are_steps_that_grow_with_n(learner):
    """Five passes through 96 points in minibatches of 32 are 15 steps."""
    options = {"widths": (6, 4), "batch_size": 32}
    through, stepped = (fit(learner(**options, **length), PROBLEM, 96) for length in ({"passes": 5}, {"steps": 15}))
    assert through.info["steps"] == 15
    np.testing.assert_array_equal(through.predict(PROBLEM.test_x), stepped.predict(PROBLEM.test_x))
    cheap, dear = (learner(**options, passes=5).cost(n, 10).fit_flops for n in (96, 192))
    assert dear == 2 * cheap
