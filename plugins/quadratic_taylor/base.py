"""What the quadratic Taylor models share; they differ in the representation h alone.

"Benefits of Neural Representations" (NR), model Quad-h.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from bfc_plugins.quadratic_taylor.options import QuadraticTaylorOptions

from bfc_bench.learner import Failure, Job, Predictor


class QuadraticTaylorLearner(QuadraticTaylorOptions):
    """Minimises ``mean_i loss(f_W(h(x_i)), y_i) + lambda ||W||_{2,4}^4`` (NR eq. (2)).

    Inputs are scaled to a typical norm of 1, as on the paper's sphere, and features to |h|^2 of about D, so that one
    lambda serves every d. Real labels are brought to mean 0 and variance 1, and predictions back.
    """

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Fit jobs that may differ in lambda, seed and sample; each comes out as ``fit`` alone would make it.

        Jobs fail where the loss does not go with the labels or the representation cannot be made.
        """
        from bfc_plugins.quadratic_taylor.fit import fit_jobs

        return fit_jobs(jobs)
