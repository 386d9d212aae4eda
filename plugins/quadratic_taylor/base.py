"""Base class of the models Quad-h of "Benefits of Neural Representations" (NR), which differ in h alone."""

from collections.abc import Sequence
from typing import Self

from bfc_plugins.quadratic_taylor.options import QuadraticTaylorOptions

from bfc_bench.learner import Failure, Job, Predictor


class QuadraticTaylorLearner(QuadraticTaylorOptions):
    """Minimises ``mean_i loss(f_W(h(x_i)), y_i) + lambda ||W||_{2,4}^4`` (NR eq. (2)).

    Inputs are scaled to a typical norm of 1, as on the paper's sphere, and features to |h|^2 of about D, so that one
    lambda serves every d. Real labels are standardised for training; predictions are in their original units.
    """

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Fit jobs that may differ in lambda, seed and sample; each result equals that of ``fit``."""
        from bfc_plugins.quadratic_taylor.fit import fit_jobs

        return fit_jobs(jobs)
