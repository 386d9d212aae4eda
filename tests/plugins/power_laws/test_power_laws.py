"""Learners on sketches beside plain loops and closed forms, and their theories beside simulations and limits."""

import numpy as np
import pytest
from bfc_plugins.power_laws.sketch import draw_sketch
from bfc_plugins.power_laws.sketched_ridge import SketchedRidge
from bfc_plugins.power_laws.sketched_sgd import SketchedSgd
from bfc_plugins.power_laws.theory import SketchedProblem, theory_of
from fit_samples import first

from bfc_bench.learner import Context, Data, Job
from bfc_bench.seeds import stream
from bfc_bench.tasks.inputs.gaussian import Gaussian, GaussianPowerLaw
from bfc_bench.tasks.labels import Clean, Noise
from bfc_bench.tasks.targets.linear import Linear
from bfc_bench.tasks.teacher_task import TeacherTask

D = 40
SPECTRUM = np.arange(1.0, D + 1) ** -2.0
CTX = Context(seed=3, square_mean=SPECTRUM)


def sample(n, noise=0.3, seed=0, d=D):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) * np.arange(1.0, d + 1) ** -1.0
    return Data("s", n, d, x=x, y=x @ rng.choice([-1.0, 1.0], d) + noise * rng.standard_normal(n))


def task(inputs=None, labels=None, d=D):
    parts = inputs or GaussianPowerLaw(a=2.0), Linear()
    return TeacherTask("t", *parts, labels=labels or Clean()).facts(d)


def plain_sgd(learner, train, ctx):
    """The definition, point by point."""
    m, n = learner.size(train.d), train.n
    s = draw_sketch(stream(ctx.seed, "sketch"), m, train.d)
    start = learner.rate / np.trace(s @ np.diag(ctx.square_mean) @ s.T)
    v = np.zeros(m)
    for t in range(n):
        gamma = start / 2 ** int(t // (n / np.log2(max(n, 2)))) if learner.schedule == "geometric" else start
        z = s @ train.x[t]
        v = v + gamma * (train.y[t] - v @ z) * z
    return s.T @ v


def test_the_loop_over_many_passes_is_the_plain_loop_of_each():
    train = sample(200)
    learners = [SketchedSgd(features=8), SketchedSgd(features=8, schedule="constant"), SketchedSgd(rate=0.2)]
    jobs = [Job(learner, first(train, n), CTX) for learner in learners for n in (1, 2, 77, 200)]
    for job, predictor in zip(jobs, SketchedSgd.fit_batch(jobs), strict=True):
        np.testing.assert_allclose(predictor.w, plain_sgd(job.learner, job.train, CTX), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [5, 12, 60])
def test_ridge_has_the_least_leave_one_out_error_and_solves_the_normal_equations(n):
    train = sample(n)
    learner = SketchedRidge(features=12, ridges=(1e-4, 1e-2, 1.0))
    predictor = learner.fit(train, CTX)
    s = draw_sketch(stream(3, "sketch"), 12, D)
    z = train.x @ s.T

    def solved(z, y, ridge):
        return np.linalg.solve(z.T @ z + ridge * np.eye(12), z.T @ y)

    errors = {}
    for ridge in learner.ridges:
        absolute = ridge * np.sum(z**2)
        left_out = [np.arange(n) != i for i in range(n)]
        errors[ridge] = np.mean(
            [(train.y[i] - z[i] @ solved(z[o], train.y[o], absolute)) ** 2 for i, o in enumerate(left_out)]
        )
    best = min(errors, key=errors.get)
    assert predictor.info["ridge"] == best
    assert predictor.info["leave_one_out_error"] == pytest.approx(errors[best], rel=1e-6)
    np.testing.assert_allclose(predictor.w, s.T @ solved(z, train.y, best * np.sum(z**2)), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("schedule", ["geometric", "constant"])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_the_recursion_is_the_mean_error_of_simulated_passes(schedule, noise):
    """For one sketch, over signs, points and noise."""
    learner, n, runs, d = SketchedSgd(features=6, schedule=schedule), 40, 4000, 20
    h = np.arange(1.0, d + 1) ** -2
    rng = np.random.default_rng(0)
    s = draw_sketch(rng, 6, d)
    w = rng.choice([-1.0, 1.0], (runs, d))
    v = np.zeros((runs, 6))
    gamma = learner.steps(n) / np.trace(s * h @ s.T)
    for t in range(n):
        x = rng.standard_normal((runs, d)) * np.sqrt(h)
        z, y = x @ s.T, np.sum(w * x, axis=1) + noise * np.sqrt(h.sum()) * rng.standard_normal(runs)
        v += gamma[t] * (y - np.sum(v * z, axis=1))[:, None] * z
    errors = ((v @ s - w) ** 2) @ h / h.sum()
    assert problem(s, h, noise**2).after_sgd(learner.rate, learner.lengths(n)) == pytest.approx(
        errors.mean(), abs=4 * errors.std() / np.sqrt(runs)
    )


def problem(s, h, noise):
    """The problem of one sketch for coefficients of 1 or -1, from matrices."""
    inside = s * h @ s.T
    best = np.linalg.solve(inside, s * h)  # v* = best @ w
    g, u = np.linalg.eigh(inside)
    rest = np.eye(len(h)) - s.T @ best
    approximation = np.array([[np.sum(h[:, None] * rest**2) / h.sum()]])
    signal = np.sum((u.T @ best) ** 2, axis=1) / h.sum()
    return SketchedProblem(g[None], signal[None], approximation, approximation + noise)


def problem_of(facts, features):
    return theory_of(facts, features, lambda problem, _: problem).nmse(1)


def test_the_problem_of_a_task_is_that_of_its_matrices():
    found = problem_of(task(labels=Noise(sd=0.5), d=20), 6)
    for k in range(len(found.g)):
        s = draw_sketch(stream("sketched theory", k), 6, 20)
        expected = problem(s, np.arange(1.0, 21) ** -2, 0.25)
        np.testing.assert_allclose(found.g[k], expected.g[0])
        np.testing.assert_allclose(found.signal[k], expected.signal[0])
        np.testing.assert_allclose(found.approximation[k], expected.approximation[0], rtol=1e-6)


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_ridge_regression_follows_its_deterministic_equivalent(noise):
    d, features, n, ridges = 60, 30, 120, (1e-3,)
    h = np.arange(1.0, d + 1) ** -1.5
    rng = np.random.default_rng(0)
    s = draw_sketch(rng, features, d)
    errors = []
    for _ in range(60):
        w = rng.choice([-1.0, 1.0], d)
        x = rng.standard_normal((n, d)) * np.sqrt(h)
        z, y = x @ s.T, x @ w + noise * np.sqrt(h.sum()) * rng.standard_normal(n)
        v = np.linalg.solve(z.T @ z + ridges[0] * n * np.trace(s * h @ s.T) * np.eye(features), z.T @ y)
        errors.append(((v @ s - w) ** 2) @ h / h.sum())
    expected = problem(s, h, noise**2).after_ridge(n, ridges)
    assert expected == pytest.approx(np.mean(errors), abs=4 * np.std(errors) / np.sqrt(60) + 0.005 * np.mean(errors))


def test_without_noise_and_with_a_whole_sketch_nothing_is_left():
    facts = task(d=8)
    assert SketchedRidge(features=8).theory(facts).nmse(1e6) < 1e-6
    assert SketchedRidge(features=8).theory(task(labels=Noise(sd=1.0), d=8)).nmse(1e4) == pytest.approx(
        8 / 1e4, rel=0.1
    )
    assert SketchedSgd(features=8).theory(facts).nmse(4000) < SketchedSgd(features=8).theory(facts).nmse(400) < 1


@pytest.mark.parametrize("a", [2.0, 3.0])
def test_the_approximation_error_is_a_power_of_the_number_of_features(a):
    """M^-(a-1), Lin et al. 2024; the local exponent between M = 16 and 64, beside the tail that d cuts off."""
    facts = task(inputs=GaussianPowerLaw(a=a), d=1024)
    few, many = (problem_of(facts, m).approximation.mean() for m in (16, 64))
    assert np.log(few / many) / np.log(4) == pytest.approx(a - 1, abs=0.15)


def test_where_the_second_moments_are_not_known_there_is_no_theory():
    facts = task(inputs=Gaussian())
    assert SketchedSgd().theory(facts) is None
    assert SketchedRidge().theory(facts) is None
