"""Tests of nearest-neighbour."""

import numpy as np
from bfc_bench import Context, Data
from bfc_bench.testing import check_learner

from bfc_bench_nearest_neighbour.nearest_neighbour import NearestNeighbour


def test_keeps_the_contract() -> None:
    """Every requirement of the conformance kit is met."""
    check_learner(NearestNeighbour)


def test_one_neighbour_recalls_the_training_labels() -> None:
    """The nearest training point of a training point is itself."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    train = Data(sample="test", n=20, d=3, x=x, y=y)
    predictor = NearestNeighbour(neighbours=1).fit(train, Context())
    np.testing.assert_array_equal(predictor.predict(x), y)
