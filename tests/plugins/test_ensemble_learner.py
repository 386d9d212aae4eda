"""An ensemble is the mean of fits that differ in their seeds alone."""

import numpy as np
import pytest
from bfc_plugins.ensemble import _joined
from bfc_plugins.kernels.random_features import RandomFeatures
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet
from breaking_learners import Constant

from bfc_bench.errors import UsageError
from bfc_bench.learner import Context, Data, Job
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.seeds import stream
from bfc_bench.toolkit.networks import PROGRAM_BYTES

LEARNERS = load_plugins().learners
FEATURES = {"features": 40, "ridge": 1e-3}


def points(n=60, d=5):
    x = stream("test", "ensemble").uniform(-1, 1, (n, d))
    return Data("s", n, d, x=x, y=x[:, 0] * x[:, 1])


def test_members_are_fits_of_the_learner_with_seeds_of_their_own():
    train, x = points(), points().x[:7]
    fitted = LEARNERS.find("ensemble:quad-densenet")(members=3, widths=(4, 3), steps=30, batch_size=16).fit(
        train, Context(seed=5)
    )
    alone = QuadDenseNet(widths=(4, 3), steps=30, batch_size=16).fit(train, Context(seed=5))
    np.testing.assert_array_equal(fitted.stages["single"].predict(x), alone.predict(x))
    each = [member.predict(x) for member in fitted.members]
    assert len({tuple(values) for values in each}) == 3
    np.testing.assert_allclose(fitted.predict(x), np.mean(each, axis=0))


def test_the_variance_of_the_random_numbers_falls_as_one_over_the_number_of_members():
    """A closed form for independent members: Var of the mean of 8 is an eighth."""
    train, x = points(), points(200).x
    learner, members = RandomFeatures(**FEATURES), LEARNERS.find("ensemble:random-features")(members=8, **FEATURES)
    jobs = [Context(seed=seed) for seed in range(30)]
    one = np.var([learner.fit(train, ctx).predict(x) for ctx in jobs], axis=0).mean()
    eight = np.var([members.fit(train, ctx).predict(x) for ctx in jobs], axis=0).mean()
    assert eight / one == pytest.approx(1 / 8, rel=0.2)


def test_it_costs_what_its_members_cost_and_a_job_of_a_batch_gets_its_own():
    learner = LEARNERS.find("ensemble:random-features")(members=4, **FEATURES)
    single, cost = RandomFeatures(**FEATURES).cost(60, 5), learner.cost(60, 5)
    assert (cost.fit_flops, cost.parameters) == (4 * single.fit_flops, 4 * single.parameters)
    train = points()
    first, second = learner.fit_batch([Job(learner, train, Context(seed=seed)) for seed in (1, 2)])
    np.testing.assert_allclose(first.predict(train.x), learner.fit(train, Context(seed=1)).predict(train.x))
    assert not np.allclose(first.predict(train.x), second.predict(train.x))


def test_memory_that_does_not_grow_with_n_is_taken_once():
    single = QuadDenseNet()
    base, one = single.cost(1, 8).bytes, single.cost(10**5, 8)
    ten = LEARNERS.find("ensemble:quad-densenet")(members=10).cost(10**5, 8)
    assert ten.bytes == pytest.approx(base + 10 * (one.bytes - base + 8 * one.parameters))
    assert ten.bytes < 10 * one.bytes - 8 * PROGRAM_BYTES


def test_it_has_the_cautions_of_its_members():
    members = [Constant(0.0) for _ in range(4)]
    for member, caution in zip(members, ("", "ended early", "took too long", "ended early"), strict=True):
        member.caution = caution
    assert _joined(members).caution == "ended early; took too long"


def test_it_names_its_learner_and_takes_its_options():
    with pytest.raises(UsageError, match="unknown learner 'no-such'"):
        LEARNERS.find("ensemble:no-such")
    with pytest.raises(UsageError, match="ensemble:LEARNER, for example ensemble:quad-densenet"):
        LEARNERS.get("ensemble").parse({}, "here")
    with pytest.raises(UsageError, match="passes go without steps"):
        LEARNERS.find("ensemble:quad-densenet").parse({"steps": 3, "passes": 2}, "here")
