"""A convolutional network on the tree of a sequence, trained jointly or layer by layer."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from bfc_plugins.hierarchies.tree import TreeLearner
from bfc_plugins.hierarchies.tree_net import TreeNet
from pydantic import Field, NonNegativeFloat, PositiveFloat

from bfc_bench.learner import BatchLearner, Capabilities, Cost, DataSpec, Failure, Job, Predictor
from bfc_bench.seeds import stream
from bfc_bench.toolkit.networks import ENSEMBLE_CAPABILITIES, PROGRAM_BYTES, probabilities

STEP_SECONDS = 30e-6
"""Least time of a compiled step, in seconds."""
CHUNK = 1024
"""Number of points predicted at once."""


class TreeCnn(TreeLearner, BatchLearner):
    """Convolutions over patches of s positions, one layer per level of the tree, trained by AdamW.

    Trained jointly, the network has a read-out of its top layer alone (arXiv 2307.02129). Trained layer by layer, each
    layer is trained with a linear read-out of all its positions and then frozen, and the next one reads its features;
    the last read-out predicts (Ren, Dandi, Krzakala and Lee 2026, arXiv 2601.19756). Each layer then has as many steps
    as the joint network has for all layers. Labels of two classes have the loss log(1 + exp(-y F)), others the softmax
    loss. Stages of layer-wise training are ``layer1``, ``layer2``, ...
    """

    name: ClassVar[str] = "tree-cnn"
    capabilities: ClassVar[Capabilities] = replace(ENSEMBLE_CAPABILITIES, labels=frozenset({"binary", "class"}))
    smoke: ClassVar[Mapping[str, Any]] = {"alphabet": 3, "width": 8, "steps": 100, "batch_size": 32, "lr": 1e-2}
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"lr": [3e-3, 1e-2, 3e-2]}

    train: Literal["joint", "layerwise"] = "joint"
    """Whether all layers are trained together, or one after the other."""
    width: Annotated[int, Field(ge=1)] = 32
    """w, channels of each layer."""
    steps: Annotated[int, Field(ge=1)] = 1000
    """Number of Adam steps of the joint network, and of each layer that is trained alone."""
    batch_size: Annotated[int, Field(ge=1)] = 64
    """Size of a minibatch, drawn with replacement."""
    lr: PositiveFloat = 1e-2
    """Peak learning rate."""
    weight_decay: NonNegativeFloat = 0.1
    """Decoupled weight decay: a step at learning rate r shrinks every parameter by the fraction r ``weight_decay``."""

    def networks(self, d: int, classes: int = 0) -> list[TreeNet]:
        """The networks that are trained one after the other: one, or one per layer, each on the features below."""
        levels = self.levels(d) or 1  # other d are skipped; only their cost is asked
        whole = TreeNet(self.branching**levels, self.alphabet, self.branching, self.width, levels, classes or 1)
        if self.train == "joint":
            return [whole]
        first = replace(whole, depth=1)
        lengths = (self.branching ** (levels - below) for below in range(1, levels))
        return [first, *(replace(first, positions=length, channels=self.width) for length in lengths)]

    def batch_key(self, train: DataSpec) -> Hashable:
        """What compiled programs depend on; seed, sample, n, learning rate and weight decay may differ."""
        return (self.name, *self.networks(train.d, train.classes), self.steps, self.batch_size, train.kind)

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Train all jobs together, stage by stage; each result equals that of ``fit``."""
        from bfc_bench.toolkit import ensemble

        learner, data = jobs[0].learner, jobs[0].train
        learner.refuse(data)
        networks, scale = learner.networks(data.d, data.classes), sqrt(learner.alphabet)
        loss = ensemble.cross_entropy_loss if data.kind == "binary" else ensemble.softmax_loss
        rngs = [stream(job.ctx.seed, cls.name) for job in jobs]
        z = [scale * np.asarray(job.train.x, np.float64) for job in jobs]
        trained: list[list[Layers]] = [[] for _ in jobs]
        running = dict(enumerate(jobs))
        for stage, network in enumerate(networks):
            members = [
                ensemble.Member(
                    *(network.init(rngs[i]), z[i], np.asarray(job.train.y), job.ctx.seed, job.learner.lr),
                    stream=stage,
                    clip=1.0,
                    weight_decay=job.learner.weight_decay,
                )
                for i, job in running.items()
            ]
            recipe = ensemble.Recipe(network, learner.batch_size, loss)
            results = ensemble.train(recipe, members, learner.steps, device=jobs[0].ctx.device)
            for i, result in zip([*running], results, strict=True):
                layers = Layers(network, {key: np.asarray(value, np.float64) for key, value in result.params.items()})
                trained[i].append(layers)
                if not result.finite:
                    del running[i]
                elif stage + 1 < len(networks):
                    z[i] = layers.all_features(z[i])[-1]
        reason = f"{cls.name}: a gradient or the loss was not finite in training. Use a smaller lr."
        diverged = Failure("diverged", reason)
        return [TreePredictor.of(layers, scale) if i in running else diverged for i, layers in enumerate(trained)]

    def cost(self, n: int, d: int) -> Cost:
        """A step costs about three forward passes; memory holds samples, features, activations and the runtime."""
        networks = self.networks(d)
        padded, row = max(1024, 2 * n), max([d, *(net.positions * net.channels for net in networks)])
        units = max(net.units() for net in networks)
        return Cost(
            flops=sum(3.0 * net.flops() * (self.batch_size * self.steps + n / 3) for net in networks),
            bytes=PROGRAM_BYTES + 20.0 * padded * row + 4.0 * units * (2 * padded + 4 * self.batch_size),
            work="steps",
            seconds=STEP_SECONDS * self.steps * len(networks),
            parameters=sum(net.weights() for net in networks),
        )


class Layers:
    """A trained network, evaluated in float64."""

    def __init__(self, network: TreeNet, params: dict[str, np.ndarray]) -> None:
        self.network, self.params = network, params

    def all_features(self, z: np.ndarray) -> list[np.ndarray]:
        """The features of each layer, (m, positions w), at z (m, positions q)."""
        chunks = [self.network.layers(self.params, z[i : i + CHUNK]) for i in range(0, max(len(z), 1), CHUNK)]
        return [np.concatenate(parts) for parts in zip(*chunks, strict=True)]


class TreePredictor(Predictor):
    """Trained networks, each on the features of the one below; the read-out of the last one predicts."""

    def __init__(self, layers: Sequence[Layers], scale: float) -> None:
        self.layers, self.scale = layers, scale

    @classmethod
    def of(cls, layers: Sequence[Layers], scale: float) -> TreePredictor:
        """One whose stages are layer-wise training after each layer but the last."""
        final = cls(layers, scale)
        final.stages = {f"layer{end}": cls(layers[:end], scale) for end in range(1, len(layers))}
        return final

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Margins (m,) or scores (m, C) at x (m, d)."""
        top = self.layers[-1]
        values = self._features(x)[-1] @ top.params["R"] + top.params["constant"]
        return np.asarray(values if values.shape[1] > 1 else values[:, 0])

    def probabilities(self, x: np.ndarray) -> np.ndarray:
        """Logistic function of the margins, (m,), or softmax of the scores, (m, C)."""
        return probabilities(self.predict(x))

    def hidden(self, x: np.ndarray) -> Mapping[str, np.ndarray]:
        """The features of layer l as "S<l + 1>", (m, positions w), up to the layer below the top."""
        return {f"S{layer}": features for layer, features in enumerate(self._features(x)[:-1], 2)}

    def _features(self, x: np.ndarray) -> list[np.ndarray]:
        z, features = self.scale * np.asarray(x, np.float64), []
        for layers in self.layers:
            features += layers.all_features(z)
            z = features[-1]
        return features
