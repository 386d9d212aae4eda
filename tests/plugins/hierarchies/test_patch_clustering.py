"""Clustering of patches: synonyms become one symbol, symbols are those of the grammar, k-means is exact on clusters."""

import numpy as np
import pytest
from bfc_plugins.hierarchies.patch_clustering import PatchClustering, clusters, mean_labels
from grammars import problem

from bfc_bench.learner import Context
from bfc_bench.seeds import stream
from bfc_bench.tasks.feature_errors import measure


@pytest.mark.parametrize("classes", [2, 8])
def test_with_many_points_the_class_is_exact(classes):
    task = problem(3, classes=classes)
    scores = PatchClustering().fit(task.train(8000), Context(seed=1)).predict(task.test_x)
    predicted = np.sign(scores) if classes == 2 else scores.argmax(axis=1)
    assert np.mean(predicted != task.test_y) < 0.005


def test_with_many_points_clusters_are_the_hidden_symbols():
    task = problem(3, classes=8)  # with fewer classes some symbols have equal correlations and need not be told apart
    predictor = PatchClustering().fit(task.train(8000), Context(seed=1))
    for name, symbols in task.test_hidden.items():
        assert measure(symbols, predictor.hidden(task.test_x)[name])["span_errors"] < 0.02


def test_one_level_is_a_table_of_the_codes_that_were_seen():
    task = problem(1, synonyms=4)
    predictor = PatchClustering().fit(task.train(300), Context(seed=1))
    assert np.mean(np.sign(predictor.predict(task.test_x)) != task.test_y) == 0
    assert predictor.hidden(task.test_x) == {}


def test_mean_labels_and_codes_by_hand():
    symbols = np.array([[0, 1, 2, 0], [0, 1, 1, 1]])
    codes = PatchClustering(alphabet=3).codes(symbols)
    assert codes.tolist() == [[1, 6], [1, 4]]
    means, counts = mean_labels(codes, np.array([[1.0], [-0.5]]), 9)
    assert counts[1].tolist() == [2, 0]
    assert means[1, 0, 0] == 0.25
    assert (means[6, 1, 0], means[4, 1, 0], means[6, 0, 0]) == (1.0, -0.5, 0.0)


def test_clusters_that_are_far_apart_are_found_and_weights_count():
    rng = stream("test")
    centres = 10 * rng.standard_normal((4, 3))
    numbers = np.repeat(np.arange(4), 6)
    vectors = centres[numbers] + 0.01 * rng.standard_normal((24, 3))
    found = clusters(vectors, np.ones(24), 4, 0)
    assert len({(a, b) for a, b in zip(numbers.tolist(), found.tolist(), strict=True)}) == 4
    line = np.array([[0.0], [1.0], [1.9]])
    assert clusters(line, np.ones(3), 2, 0).tolist() in ([0, 1, 1], [1, 0, 0])
    assert clusters(line, np.array([0.1, 1.0, 1.0]), 2, 0).tolist() in ([0, 0, 1], [1, 1, 0])
    assert sorted(clusters(line, np.ones(3), 5, 0).tolist()) == [0, 1, 2]
