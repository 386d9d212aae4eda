"""Learning curves of a neural learner, compile time included, against the eager loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import torch

from benchmarks import eager
from benchmarks.measurement import Measurement, interleave
from benchmarks.networks import EAGER, SMALL, geometric_mean, same_loss
from benchmarks.problems import samples, teacher_problems
from bfc_bench.learner import Job, Predictor
from bfc_bench.plugins import load_plugins

SIZES = (100, 200, 400, 700, 1000)


def measure(quick: bool) -> Iterator[Measurement]:
    """32 teachers x 5 sizes with the learner ``quad-densenet`` at S and its default recipe.

    The eager loop trains one model per size, because its time is proportional to the number of models.
    """
    jax.config.update("jax_enable_compilation_cache", False)
    teachers, limit = (4, 200) if quick else (32, None)
    options = {"widths": (SMALL.width,) * SMALL.depth, "batch_size": SMALL.batch_size, "clip": 1.0, "steps": limit}
    plugins = load_plugins()
    learner: Any = plugins.learner("quad-densenet").parse(options, "learning_curve")
    curves = [samples(problem, SIZES) for problem in teacher_problems(plugins, SMALL.d, teachers)]
    jobs = [Job(learner, train, ctx) for curve in curves for train, ctx in curve]
    some = jobs[: len(SIZES)]

    def ours() -> list[Predictor]:
        jax.clear_caches()
        return [result for result in learner.fit_batch(jobs) if isinstance(result, Predictor)]

    def theirs() -> float:
        return geometric_mean([_eager(learner, job) for job in some])

    pairs = interleave(ours, theirs, 1 if quick else 3, warm=False)
    fitted, loss = pairs.results
    steps = learner.length(SMALL.d)
    losses = same_loss(geometric_mean([predictor.info["final_loss"] for predictor in fitted[: len(some)]]), loss)
    yield pairs.measurement(
        f"{teachers} teachers x {len(SIZES)} sizes, S, compile time included",
        EAGER,
        "s",
        goal=8,
        theirs_scale=len(jobs) / len(some),
        note=f"{len(jobs)} models of {steps} steps; the opponent trained {len(some)} of them; {losses}",
    )


def _eager(learner: Any, job: Job) -> float:
    """Final loss of the same fit by the eager loop."""
    setup, d = learner.setup(job.train, job.ctx), job.train.d
    x, y = (torch.tensor(array, dtype=torch.float32) for array in (setup.x, setup.y))
    model = eager.DenseNet(setup.net, setup.params)
    return eager.train(
        model, x, y, steps=learner.length(d), batch_size=learner.minibatch(d), lr=learner.rate(d), seed=0, clip=1.0
    )
