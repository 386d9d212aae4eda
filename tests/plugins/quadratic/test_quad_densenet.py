"""Joint training finds the teacher, whoever it is trained with."""

import numpy as np
import pytest
from bfc_plugins.quadratic.grow import Grow
from bfc_plugins.quadratic.layerwise import Layerwise
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet
from teacher_fits import fit, job, nmse, problem

from bfc_bench.errors import Diverged, UsageError
from bfc_bench.learner import Context, Data, Failure
from bfc_bench.seeds import stream
from bfc_bench.tasks.feature_errors import measure_features
from bfc_bench.tasks.labels import Noise

SMALL = {"widths": (6, 4), "steps": 60, "batch_size": 32}


def test_joint_training_finds_the_teacher_and_its_features():
    p = problem()
    joint = fit(QuadDenseNet(widths=(10, 6), steps=2000), p, 300)
    assert nmse(joint, p) <= 1e-5
    found = measure_features(p.drawn.hidden(p.test_x), joint.hidden(p.test_x))["feature_errors"]
    assert max(found["S2"], found["S3"]) <= 1e-4


@pytest.mark.parametrize("cls", [QuadDenseNet, Layerwise, Grow])
def test_a_batch_of_different_jobs_equals_single_fits_bitwise(cls):
    a, b = problem(replicate=0), problem(replicate=1)
    jobs = [job(cls(**SMALL), a, 50), job(cls(**SMALL, lr=0.02, init_scale=0.9), a, 200), job(cls(**SMALL), b, 1500)]
    assert len({j.learner.batch_key(j.train) for j in jobs}) == 1
    for one, fitted in zip(jobs, cls.fit_batch(jobs), strict=True):
        alone = cls.fit(one.learner, one.train, one.ctx)
        np.testing.assert_array_equal(alone.predict(a.test_x), fitted.predict(a.test_x))


def test_what_is_compiled_is_the_same_for_all_members_of_a_batch():
    may = {"steps": 60, "lr": 0.02, "lr_layers": (1.0, 0.5), "clip": 2.0, "init_scale": 0.9}
    not_ = {
        "loss": "square",
        "optimizer": "sgd",
        "ranks": "given",
        "backward": "identity",
        "steps": 50,
        "truncate": 4.0,
    }
    options = [*may.items(), *not_.items()]
    keys = [QuadDenseNet(**SMALL | {name: value}).batch_key(problem().spec(50)) for name, value in options]
    assert [key == keys[0] for key in keys] == [True] * len(may) + [False] * len(not_)


@pytest.mark.parametrize("cls", [QuadDenseNet, Layerwise, Grow])
def test_divergence_is_one_jobs_own(cls):
    p = problem()
    good = job(cls(**SMALL), p, 100)
    wild = job(cls(**SMALL, optimizer="adam", lr=1e15), p, 100)
    first, failed, last = cls.fit_batch([good, wild, good])
    assert isinstance(failed, Failure)
    assert failed.status == "diverged"
    for fitted in (first, last):
        np.testing.assert_array_equal(
            fitted.predict(p.test_x), cls.fit(good.learner, good.train, good.ctx).predict(p.test_x)
        )
    with pytest.raises(Diverged, match=f"{cls.name}: a gradient or the loss was not finite"):
        wild.learner.fit(wild.train, wild.ctx)


def test_units_of_the_data_do_not_matter():
    p = problem()
    data = p.train(200)
    learner = QuadDenseNet(**SMALL)
    plain = learner.fit(data, Context(square_mean=p.square_mean))
    other = Data(sample="s", n=200, d=6, x=data.x / 8.0, y=data.y * 1024.0)
    scaled = learner.fit(other, Context(square_mean=p.square_mean / 64.0))
    np.testing.assert_allclose(scaled.predict(p.test_x / 8.0), 1024.0 * plain.predict(p.test_x), rtol=1e-6)


def test_checkpoints_are_stages_of_the_same_training():
    p = problem()
    one = job(QuadDenseNet(**SMALL, checkpoints=(10, 40), ranks="given"), p, 100)
    fitted = one.learner.fit(one.train, one.ctx)
    assert list(fitted.stages) == ["step10", "step40"]
    assert nmse(fitted.stages["step10"], p) > nmse(fitted, p)
    np.testing.assert_array_equal(
        fitted.predict(p.test_x), QuadDenseNet(**SMALL).fit(one.train, one.ctx).predict(p.test_x)
    )


def test_a_learned_first_layer_reads_the_inputs_and_nothing_reads_their_squares():
    learner = QuadDenseNet(first="learned", widths=(8, 6, 4))
    assert learner.connections == ((0,), (2,), (0, 3))
    assert (learner.depth, QuadDenseNet(widths=(8, 6)).depth) == (3, 3)
    assert [learner.net(10).fan_ins(layer) for layer in (2, 3, 4)] == [[10], [8], [10, 6]]
    assert QuadDenseNet(first="learned", widths=(8,)).connections == ((0,),)


def test_the_quartic_of_the_talk_is_learned_with_its_features():
    # x_1^2 + x_2^2 + .3 (x_1^4 + x_2^4): S_2 = (x_1, x_2) and S_3 = sqrt(.3) (x_1^2, x_2^2).
    rng = stream("quartic")
    x, test = rng.standard_normal((1000, 10)), rng.standard_normal((5000, 10))

    def quartic(x):
        return (x[:, :2] ** 2 + 0.3 * x[:, :2] ** 4).sum(1)

    learner = QuadDenseNet(first="learned", widths=(8, 6), steps=2500)
    fitted = learner.fit(Data(sample="s", n=1000, d=10, x=x, y=quartic(x)), Context(square_mean=np.ones(10)))
    truth = quartic(test)
    assert np.mean((fitted.predict(test) - truth) ** 2) <= 1e-5 * np.var(truth)
    features = {"S2": test[:, :2], "S3": np.sqrt(0.3) * test[:, :2] ** 2}
    assert max(measure_features(features, fitted.hidden(test))["feature_errors"].values()) <= 1e-2


def test_shared_skips_are_trained_or_refused():
    p = problem()
    narrow = QuadDenseNet(**SMALL, share_skips=True)
    assert narrow.skip(p.task.facts(6), 100) is None
    assert "widths[0] to be the input dimension, 7" in narrow.skip(p.task.facts(7), 100)
    with pytest.raises(UsageError, match=r"quad-densenet: share_skips needs widths\[0\] to be the input dimension, 7"):
        fit(narrow, problem(d=7), 100)
    for cls in (QuadDenseNet, Layerwise, Grow):
        fitted = fit(cls(**{**SMALL, "steps": 500}, share_skips=True), p, 200)
        assert fitted.params["W3"].shape == (4, 6)
        assert nmse(fitted, p) <= 0.5


def test_noisy_labels_want_the_square_loss():
    p = problem(labels=Noise(sd=0.3))
    options = {"widths": (10, 6), "steps": 2000, "ranks": "given"}
    square, weighted = (nmse(fit(QuadDenseNet(**options, loss=loss), p, 2000), p) for loss in ("square", "weighted"))
    assert square < weighted
    assert square <= 0.3**2 * 0.2, "most of the noise is averaged out"
