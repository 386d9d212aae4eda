"""A network that has the target's own L or J_l, where it could have had others, is said to know them."""

import pytest
from bfc_plugins.algorithm_1.wkr_densenet import WkrDenseNet
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet

from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.labels import Clean
from bfc_bench.tasks.targets.hard_densenets import HardKernel
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.tasks.targets.toys import SlideDensenet
from bfc_bench.tasks.teacher_task import TeacherTask

L3 = QuadraticDensenet(widths=(4, 2), alphas=(1.0, 0.3))
L4 = QuadraticDensenet(widths=(4, 2, 2), alphas=(1.0, 0.5, 0.25))
L4_OTHER = QuadraticDensenet(widths=(4, 2, 2), alphas=(1.0, 0.5, 0.25), skips=((1,), (0, 2), (0, 1, 3)))
HARD = HardKernel(alphas=(1.0, 0.1))
SLIDE = SlideDensenet(widths=(4, 2), alphas=(1.0, 0.3))
DEEP = {"widths": (8, 8, 8)}


@pytest.mark.parametrize(
    ("cls", "options", "target", "known"),
    [
        (QuadDenseNet, {}, L3, ()),  # the default has three layers, and J_3 = {0, 2} is all that the rule allows
        (QuadDenseNet, {}, L4, ()),
        (QuadDenseNet, DEEP, L4, ("depth", "skips")),
        (QuadDenseNet, DEEP, L4_OTHER, ("depth",)),
        # With every link that the rule allows J_l says nothing.
        (QuadDenseNet, {**DEEP, "skips": ((1,), (0, 2), (0, 1, 3))}, L4_OTHER, ("depth",)),
        (QuadDenseNet, {**DEEP, "skips": ((1,), (0, 2), (1, 3))}, L4, ("depth",)),
        (QuadDenseNet, {"skips": ((1,), (0, 1, 2))}, L3, ()),
        (QuadDenseNet, {"skips": ((0, 1), (0, 2))}, HARD, ("skips",)),
        (QuadDenseNet, {"first": "learned", "skips": ((0,), (0, 2))}, SLIDE, ()),
        (WkrDenseNet, {"depth": 4}, L4, ("depth", "skips")),
    ],
    ids=str,
)
def test_what_options_give_away(cls, options, target, known):
    inputs = Gaussian() if target is SLIDE else Uniform()
    problem = TeacherTask("t", inputs, target, labels=Clean()).problem(0, 6, 0, 200)
    assert problem.known(cls(**options).assumes()) == set(known)


def test_rows_say_what_a_network_knew(rows_of):
    target = {"kind": "quadratic-densenet", "widths": [2, 1, 1], "alphas": [1.0, 0.5, 0.25]}
    task = {"name": "t", "inputs": {"kind": "uniform"}, "target": target, "d": [4], "n": [20]}
    deep = {"name": "quad-densenet", "options": {"widths": [4, 4, 4], "steps": 5}}
    learners = [
        {**deep, "label": "known"},
        {"name": "wkr-densenet", "label": "told", "options": {"depth": 4, "max_steps": 5, "alphas": "oracle"}},
        {"name": "quad-densenet", "label": "default", "options": {"steps": 5}},
    ]
    oracle = {row.label: row.chosen.get("oracle") for row in rows_of(task=[task], learner=learners, jobs=1)}
    assert oracle == {"known": ["depth", "skips"], "told": ["alphas", "depth", "skips"], "default": None}
