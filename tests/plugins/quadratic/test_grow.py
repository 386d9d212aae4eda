"""Growing corrects features that layer-wise training leaves as they are."""

import numpy as np
import pytest
from bfc_plugins.quadratic.grow import Grow
from bfc_plugins.quadratic.layerwise import Layerwise
from teacher_fits import fit, job, nmse, problem

from bfc_bench.learner import Context
from bfc_bench.tasks.feature_errors import measure_features

SMALL = {"widths": (6, 4), "steps": 60, "batch_size": 32}
PROBLEM = problem(6)


def test_layer_2_is_corrected_when_layer_3_joins():
    options = {"widths": (10, 6), "steps": 2000}
    grown, frozen = fit(Grow(**options), PROBLEM, 400), fit(Layerwise(**options), PROBLEM, 400)
    truth = PROBLEM.drawn.hidden(PROBLEM.test_x)
    before, after = (
        measure_features(truth, f.hidden(PROBLEM.test_x))["feature_errors"] for f in (grown.stages["layer2"], grown)
    )
    assert before["S2"] >= 1e-3
    assert after["S2"] <= 1e-5
    assert nmse(grown.stages["layer2"], PROBLEM) >= 1e-2
    assert nmse(grown, PROBLEM) <= 1e-5
    assert nmse(frozen, PROBLEM) >= 1e-3


def test_error_at_dimension_20_is_that_of_joint_training():
    jobs = [job(Grow(), problem(20, replicate, widths=(4, 2)), 1000) for replicate in range(3)]
    found = Grow.fit_batch(jobs)
    assert np.mean([nmse(f, problem(20, i, widths=(4, 2))) for i, f in enumerate(found)]) <= 1e-4
    assert len({f.info["final_loss"] for f in found}) == 3


def test_stages_begin_where_the_last_one_ended():
    grown = fit(Grow(**{**SMALL, "widths": (6, 4, 3)}), PROBLEM, 100)
    assert list(grown.stages) == ["layer2", "layer3", "layer4"]
    shallow = fit(Grow(**{**SMALL, "widths": (6, 4)}), PROBLEM, 100)
    np.testing.assert_array_equal(grown.stages["layer3"].predict(PROBLEM.test_x), shallow.predict(PROBLEM.test_x))
    # A layer that may not move is where the stage before has left it: the start, for all stages.
    still = fit(Grow(**SMALL, lr_layers=(0.0, 1.0)), PROBLEM, 100)
    start = Grow(**SMALL).setup(PROBLEM.train(100), Context(seed=0, square_mean=PROBLEM.square_mean)).params
    np.testing.assert_allclose(still.params["W2"], start["W2"], rtol=1e-6)
    assert not np.allclose(still.params["W3"], start["W3"], rtol=1e-3)


def test_weights_say_how_far_each_layer_was_corrected():
    grown, frozen = (fit(cls(**SMALL), PROBLEM, 100) for cls in (Grow, Layerwise))
    for measure in ("weight_correlation", "weight_alignment"):
        by_stage = grown.info[measure]
        assert {name: list(layers) for name, layers in by_stage.items()} == {
            "start": ["W2", "W3"],
            "layer2": ["W2"],
            "layer3": ["W2", "W3"],
        }
        assert by_stage["start"]["W2"] < by_stage["layer2"]["W2"] < 1 - 1e-6
        assert by_stage["layer3"] == pytest.approx({"W2": 1.0, "W3": 1.0})
        assert frozen.info[measure]["layer2"]["W2"] == pytest.approx(1.0)
