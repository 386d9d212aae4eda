"""The tree network: its layers by hand, frozen layers, what it declares, and grammars that it learns."""

import numpy as np
import pytest
from bfc_plugins.hierarchies.tree_cnn import TreeCnn
from bfc_plugins.hierarchies.tree_net import TreeNet
from grammars import problem

from bfc_bench.learner import Context, Job
from bfc_bench.seeds import stream

NET = TreeNet(positions=4, channels=3, branching=2, width=5, depth=2, outputs=2)


def test_a_layer_reads_its_patch_alone_with_the_filters_of_all_positions():
    params = NET.init(stream("test"))
    z = stream("test", "z").standard_normal((6, 12))
    first, second = NET.layers(params, z)
    for patch in range(2):
        alone = (z[:, 6 * patch : 6 * patch + 6] @ params["W1"]).clip(0)
        np.testing.assert_allclose(first[:, 5 * patch : 5 * patch + 5], alone, rtol=1e-12)
    np.testing.assert_allclose(second, (first @ params["W2"]).clip(0), rtol=1e-12)
    np.testing.assert_allclose(NET(params, z), second @ params["R"], rtol=1e-12)


def test_declared_weights_and_operations_are_those_of_the_network():
    params = NET.init(stream("test"))
    assert NET.weights() == sum(np.size(value) for value in params.values())
    per_position = 6 * 5 * 2 + 10 * 5 + 5 * 2
    assert NET.flops() == 2 * per_position


@pytest.mark.parametrize("train", ["joint", "layerwise"])
def test_a_grammar_is_learned_with_its_symbols(train, usable):
    learner = TreeCnn(train=train, steps=400)
    usable(learner)
    task = problem(2)
    data = task.train(512)
    predictor = learner.fit(data, Context(seed=1))
    assert np.mean(np.sign(predictor.predict(task.test_x)) == task.test_y) > 0.98
    assert np.mean((predictor.probabilities(task.test_x) > 0.5) == (task.test_y > 0)) > 0.98
    assert predictor.hidden(task.test_x)["S2"].shape == (2000, 2 * 32)
    assert list(predictor.stages) == ([] if train == "joint" else ["layer1"])
    cost = learner.cost(512, data.d)
    assert cost.parameters == sum(np.size(v) for layers in predictor.layers for v in layers.params.values())


def test_a_frozen_layer_keeps_its_features_and_the_first_stage_reads_one_level_only(usable):
    learner = TreeCnn(train="layerwise", steps=50)
    usable(learner)
    task = problem(3)
    predictor = learner.fit(task.train(200), Context(seed=1))
    assert list(predictor.stages) == ["layer1", "layer2"]
    for stage in predictor.stages.values():
        for name, features in stage.hidden(task.test_x).items():
            np.testing.assert_array_equal(features, predictor.hidden(task.test_x)[name])


@pytest.mark.parametrize("train", ["joint", "layerwise"])
def test_divergence_is_one_jobs_own(train, usable):
    task = problem(2)
    good, wild = (Job(TreeCnn(train=train, steps=20, lr=lr), task.train(64), Context(seed=1)) for lr in (1e-2, 1e30))
    usable(good.learner)
    fitted, failed = TreeCnn.fit_batch([good, wild])
    assert failed.status == "diverged"
    alone = good.learner.fit(good.train, good.ctx)
    np.testing.assert_array_equal(fitted.predict(task.test_x), alone.predict(task.test_x))


def test_what_is_no_sequence_of_the_tree_is_skipped():
    learner = TreeCnn()
    assert [learner.levels(d) for d in (16, 32, 64, 8, 24, 20)] == [1, 2, 3, 0, 0, 0]
    assert learner.skip(problem(2).task.facts(32), 100) is None
    assert "alphabet = 4" in TreeCnn(alphabet=4).skip(problem(2).task.facts(32), 100)
    assert "3^L positions" in TreeCnn(branching=3).skip(problem(2).task.facts(32), 100)
