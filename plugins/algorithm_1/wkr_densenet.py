"""The learner of Algorithm 1 of "Backward Feature Correction": SGD on the re-parameterised DenseNet."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from bfc_plugins.algorithm_1.controller import FitController
from bfc_plugins.algorithm_1.options import Algorithm1Options

from bfc_bench.learner import Capabilities, Failure, Job, Predictor
from bfc_bench.toolkit.networks import ENSEMBLE_CAPABILITIES

LANES = 64
"""Number of jobs trained together on a GPU. It is constant because another number is another program, which rounds
differently."""


class WkrDenseNet(Algorithm1Options):
    """Train W_l and distil K_l from it, layer by layer, none ever frozen (BFC section 4, Algorithm 1, and appendix B).

    Training starts with W_2. K_2 joins by INITIAL-DISTILL, then W_3, K_3, ..., W_L, K_L, and every part is trained to
    the end. Objective and thresholds are in units of the (weighted) variance of y. The paper's constants are for large
    d; the defaults are for d up to a few hundred. The noise of all steps is added once every ``check_every`` steps.

    Binary labels are fitted by their cross entropy (BFC section 3.2, Theorem 4), with the objective in units of ``v``.
    The prediction is the margin x_c + F(the other columns) if ``Context.margin_column`` gives c, and otherwise
    F(x) + w.x with trained w.
    """

    name: ClassVar[str] = "wkr-densenet"
    version: ClassVar[int] = 4
    capabilities: ClassVar[Capabilities] = replace(ENSEMBLE_CAPABILITIES, oracle=frozenset({"alphas"}))
    smoke: ClassVar[Mapping[str, Any]] = {"width": 6, "max_rank": 3, "max_steps": 400, "check_every": 10}

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Run all jobs, each with its own control flow; together on a GPU, one by one on a CPU."""
        from bfc_plugins.algorithm_1.sgd import Engine

        runs = [FitController(job.learner, job.train, job.ctx) for job in jobs]
        device, every = jobs[0].ctx.device, runs[0].learner.check_every
        lanes = 1 if device == "cpu" else LANES
        for group in (runs[first : first + lanes] for first in range(0, len(runs), lanes)):
            engine = Engine(group[0].program, [run.sample for run in group], device, lanes)
            step = 0
            while not all(run.ended for run in group):
                # A run that has ended stays in the group with learning rates of 0, and is not checked again.
                engine.advance([run.training for run in group], step, step + every)
                step += every
                for run in group:
                    if not run.ended:
                        run.check(step)
        return [run.result() for run in runs]
