"""The axis of the border figure against closed forms, and the figure of places with open intervals."""

import math

import numpy as np
import pytest

from benchmarks import layerwise_border
from bfc_bench.report.pictures import picture
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.joint_task import JointTask
from bfc_bench.tasks.labels import Clean
from bfc_bench.tasks.laws.random_hierarchy import RandomHierarchy
from bfc_bench.tasks.targets.quadratic_feature import QuadraticFeature
from bfc_bench.tasks.teacher_task import TeacherTask


@pytest.mark.parametrize("c", [0.2, 0.9])
def test_the_correlation_of_a_quadratic_feature_is_c_squared(c):
    problem = TeacherTask("t", Gaussian(), QuadraticFeature(c=c, k=3), Clean()).problem(0, 8, 0, 40_000)
    assert layerwise_border.smallest_correlation(problem) == pytest.approx(c**2, abs=0.03)


def test_the_correlation_of_a_grammar_is_that_of_its_lowest_hidden_level():
    law = RandomHierarchy(vocabulary=8, synonyms=4, levels=3, classes=2)
    problem = JointTask("t", law, Clean()).problem(0, law.dimension, 0, 20_000)
    y, symbols = problem.test_y, problem.test_hidden["S2"]
    r2 = []
    for block in np.split(symbols, 4, axis=1):
        weights = np.linalg.lstsq(block, y - y.mean(), rcond=None)[0]
        r2.append(np.var(block @ weights) / np.var(y))
    explained = problem.target_facts["explained"]
    assert explained["S2"] == pytest.approx(np.mean(r2), abs=0.01)
    assert layerwise_border.smallest_correlation(problem) == min(explained["S2"], explained["S3"])


def test_the_figure_shows_open_intervals_and_leaves_out_what_was_not_found():
    name, one = layerwise_border.PAIRS["bfc"][2], layerwise_border.Ratio(2.0, 1.0, 4.0)
    ratios = [(3.0, 2.0, math.inf), (1.0, 0.0, 1.5), (math.nan, math.nan, math.nan)]
    places = [
        layerwise_border.Place("a", 8, name, 0.1 * (k + 1), layerwise_border.Ratio(*ratio), one)
        for k, ratio in enumerate(ratios)
    ]
    drawn = [layerwise_border.panel(places, what, "ratio").records for what in ("samples", "errors")]
    samples, errors = ([record["part"] for record in records] for records in drawn)
    assert (samples.count("ratio"), samples.count("open hi"), samples.count("open lo")) == (2, 1, 1)
    assert errors.count("ratio") == 3
    assert not {"open hi", "open lo"} & {*errors}
    drawing = picture(layerwise_border.draw(places), "svg").decode()
    assert drawing.count("ratio of errors at the largest n") == drawing.count("ratio of N*(0.1)") == 1
    assert drawing.count(name) == 1, "one legend for both panels"
