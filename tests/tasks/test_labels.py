"""Labels: clean and noisy."""

import numpy as np
import pytest

from bfc_bench.errors import UsageError
from bfc_bench.tasks.labels import LABELS, Clean, Noise

X = np.random.default_rng(0).standard_normal((100_000, 2))
VALUES = X[:, 0] ** 2


def test_kinds():
    assert {labels.kind for labels in LABELS} == {"clean", "noise"}
    assert all(labels.label_kind == "real" for labels in LABELS)


def test_clean_labels_are_the_target():
    assert np.array_equal(Clean().label(np.random.default_rng(1), X, VALUES, 3.0), VALUES)


def test_noise_is_gaussian_with_its_share_of_the_targets_deviation():
    noise = Noise(sd=0.5).label(np.random.default_rng(1), X, VALUES, 3.0) - VALUES
    m = len(noise)
    assert abs(noise.mean()) < 5 * 1.5 / np.sqrt(m)
    assert noise.std() == pytest.approx(1.5, rel=5 / np.sqrt(2 * m))
    assert np.mean(noise**4) == pytest.approx(3 * 1.5**4, rel=5 * np.sqrt(96 / 9 / m))
    assert abs(np.corrcoef(noise, VALUES)[0, 1]) < 5 / np.sqrt(m)


def test_no_noise_is_clean():
    assert np.array_equal(Noise(sd=0).label(np.random.default_rng(1), X, VALUES, 3.0), VALUES)


@pytest.mark.parametrize("options", [{}, {"sd": -0.1}, {"sd": float("nan")}, {"sd": float("inf")}])
def test_a_bad_deviation_is_named(options):
    with pytest.raises(UsageError, match="here: sd "):
        Noise.parse(options, "here")
