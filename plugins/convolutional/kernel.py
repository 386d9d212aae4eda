"""Ridge regression with the kernel of an infinitely wide convolutional network."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from bfc_plugins.convolutional.options import image_shape, likely_shape, no_image
from bfc_plugins.convolutional.tiles import ARRAYS, covariances, tile_of
from pydantic import Field, NonNegativeFloat

from bfc_bench.learner import BatchLearner, Capabilities, Cost, DataSpec, Failure, Job, Predictor, TaskFacts


class ConvKernel(BatchLearner):
    """Ridge regression with a compositional kernel of convolutions from neural-tangents (BFC figure 12).

    The kernel is that of ``depth`` 3 x 3 convolutions with ReLU, divided by its mean diagonal on the training points.
    ``pool`` averages over the image at the end, which needs the covariances of all pixel pairs of two images, h^2 w^2
    numbers per pair of images; ``flatten`` needs h w. C classes are C centred right-hand sides, +1 for the class and -1
    for the others.
    """

    name: ClassVar[str] = "conv-kernel"
    capabilities: ClassVar[Capabilities] = Capabilities(
        labels=frozenset({"binary", "class"}),
        arrays=("torch",),
        devices=frozenset({"cpu", "cuda"}),
        max_n=5000,
        libraries=frozenset({"jax", "neural-tangents"}),
    )
    smoke: ClassVar[Mapping[str, Any]] = {"depth": 1, "ridge": 1e-3}
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"ridge": [10.0**k for k in range(-6, 1)]}

    kernel: Literal["nngp", "ntk"] = "nngp"
    """``nngp``, of networks in which the read-out alone is trained, or ``ntk``, the tangent kernel of all layers."""
    depth: Annotated[int, Field(ge=1)] = 3
    """Number of convolutions."""
    readout: Literal["pool", "flatten"] = "pool"
    """Read-out of the last layer: its average over the image's pixels, or all pixels."""
    ridge: NonNegativeFloat = 1e-3
    """Ridge added to the diagonal of the kernel matrix; it is not scaled with n."""

    def batch_key(self, train: DataSpec) -> Hashable:
        """All sizes and ridges of one sample share the kernel matrix of the largest."""
        return (train.sample, self.kernel, self.depth, self.readout)

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Fit jobs that are prefixes of one sample. A job fails if its system cannot be solved in float64."""
        from bfc_plugins.convolutional.compositional import ConvolutionalKernel, solve

        learner, longest = jobs[0].learner, max((job.train for job in jobs), key=lambda train: train.n)
        kernel = ConvolutionalKernel(image_shape(longest.shape), learner.depth, learner.readout, learner.kernel)
        results = solve(kernel, longest, [(job.train.n, job.learner.ridge) for job in jobs])
        return [fit or Failure("failed", f"{cls.name}: no solution in float64. Use a larger ridge.") for fit in results]

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Skip inputs that are not images."""
        return no_image(self.name, task)

    def cost(self, n: int, d: int) -> Cost:
        """About 40 operations per layer and pixel pair of two images, twice for ``ntk``, and a factorisation."""
        image = likely_shape(d)
        pairs = covariances(image, self.readout)
        tile = ARRAYS * tile_of(image, self.readout) ** 2 * pairs
        matrix = n**2 * pairs * 40.0 * self.depth * (2 if self.kernel == "ntk" else 1)
        bytes = 500e6 + 24.0 * n**2 + 8.0 * tile
        return Cost(matrix + n**3 / 3, bytes, work="products", parameters=n)
