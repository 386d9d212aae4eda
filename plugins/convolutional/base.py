"""Base class of the learners that train convolutional networks by stochastic gradient descent."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from bfc_plugins.convolutional.options import SgdOptions

if TYPE_CHECKING:
    from bfc_plugins.convolutional.fit import ImageFit

    from bfc_bench.learner import Context, Data, Predictor


class SgdLearner(SgdOptions):
    """A convolutional network trained by stochastic gradient descent."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Train on images x (n, c h w)."""
        from bfc_plugins.convolutional.architecture import deterministic_convolutions
        from bfc_plugins.convolutional.fit import ImageFit

        with deterministic_convolutions():
            return self.run(ImageFit.of(self, train, ctx))

    @abstractmethod
    def run(self, fit: ImageFit) -> Predictor:
        """Train the networks and return the predictor."""
