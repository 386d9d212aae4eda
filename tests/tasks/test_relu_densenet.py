"""The ReLU hierarchy: a value by hand, homogeneity, and the share of each contribution."""

import numpy as np
import pytest

from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.targets.relu_densenet import ReluDensenet, ReluTeacher


def drawn(widths, alphas):
    law = Gaussian().law(np.random.default_rng(0), 8)
    return law, ReluDensenet(widths=widths, alphas=alphas).draw(np.random.default_rng(1), law)


def test_a_teacher_computed_by_hand():
    nothing = np.zeros((1, 0))
    teacher = ReluTeacher(
        [(np.array([[1.0, -1.0]]), nothing), (np.array([[1.0, 1.0]]), np.array([[-2.0]]))], [1.0, 0.5]
    )
    # x = (3, 1): S_1 = 2, S_2 = 4 - 2 * 2.  x = (1, 3): S_1 = -2, S_2 = 4.
    np.testing.assert_allclose(teacher(np.array([[3.0, 1.0], [1.0, 3.0]])), [2 + 0.5 * 0, 0 + 0.5 * 4])


def test_it_is_positively_homogeneous():
    law, teacher = drawn((4, 3, 2), (1.0, 0.5, 0.25))
    x = law.sample(np.random.default_rng(2), 50)
    np.testing.assert_allclose(teacher(3 * x), 3 * teacher(x))
    assert not np.allclose(teacher(-x), -teacher(x))


def test_every_contribution_has_its_share_of_a_unit_variance():
    law, teacher = drawn((4, 3), (1.0, 0.5))
    x = law.sample(np.random.default_rng(2), 50_000)
    (first, _), (skip, above) = teacher.weights
    features = np.maximum(teacher.hidden(x)["S1"], 0)
    for part, share in ((x @ first.T, 1.0), (x @ skip.T, 0.5), (features @ above.T, 0.5)):
        assert np.mean(np.var(part, axis=0)) == pytest.approx(share, rel=0.03)
