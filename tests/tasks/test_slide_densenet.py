"""The teacher of the talk: definition, degree, signs, hidden features."""

import numpy as np

from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.targets.toys import SlideDensenet

D = 8
L3 = {"widths": [4, 3, 2], "alphas": [1.0, 0.5, 0.25]}


def draw(options=L3, seed=0):
    law = Gaussian().law(np.random.default_rng(seed), D)
    return law, SlideDensenet.parse(options, "test").draw(np.random.default_rng(seed + 1), law)


def test_a_teacher_follows_the_definition_of_the_talk():
    law, teacher = draw()
    x = law.sample(np.random.default_rng(9), 20)
    w1, w2, w3 = teacher.weights
    g1 = (x @ w1[0].T) ** 2
    g2 = (x @ w2[0].T + g1 @ w2[2].T) ** 2
    g3 = (x @ w3[0].T + g1 @ w3[2].T + g2 @ w3[3].T) ** 2
    by_definition = sum(a * g @ w for a, g, w in zip(L3["alphas"], (g1, g2, g3), teacher.readouts, strict=True))
    np.testing.assert_allclose(teacher(x), by_definition, rtol=1e-10)
    assert [sorted(layer) for layer in teacher.weights] == [[0], [0, 2], [0, 2, 3]]
    assert (teacher.facts["widths"], teacher.facts["alphas"]) == ([4, 3, 2], [1.0, 0.5, 0.25])
    assert teacher.facts["skips"] == [[0], [0, 2], [0, 2, 3]]


def test_signs_are_drawn_or_positive():
    _, teacher = draw({"widths": [8, 8, 8], "alphas": [1, 1, 1]})
    signs = np.concatenate(teacher.readouts)
    assert set(signs) == {-1.0, 1.0}
    _, positive = draw({**L3, "signs": "positive"})
    assert set(np.concatenate(positive.readouts)) == {1.0}


def test_the_first_layer_has_unit_deviation_on_gaussian_inputs():
    _, teacher = draw()
    w = teacher.weights[0][0]
    np.testing.assert_allclose(w @ w.T, np.eye(4), atol=0.05)
