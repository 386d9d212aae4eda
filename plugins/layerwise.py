"""Layer-wise training: each layer of a quadratic DenseNet on its own, the ones below it frozen."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from bfc_bench.learner import Array, Failure, Job, Outline, Predictor
from bfc_bench.toolkit.quadratic_learner import QuadraticLearner, Setup, diverged
from bfc_bench.toolkit.quadratic_net import Params
from bfc_bench.toolkit.quadratic_predictor import QuadraticPredictor

if TYPE_CHECKING:
    from bfc_bench.toolkit.ensemble import Member, Trained


class Layerwise(QuadraticLearner):
    """Train layer 2 with the others at zero, freeze it, train layer 3, and so on (BFC footnote 6, lines 140-160).

    Every stage gets ``steps`` steps, its own warm-up and cosine: as many as the joint learner gets for all layers, so
    that what is missing at the end is not training time but the correction of the frozen features. The stages are
    ``layer2``, ``layer3``, ...; a frozen layer's ``hidden`` features keep the scale they were trained with.
    """

    name: ClassVar[str] = "layerwise"
    smoke: ClassVar[Mapping[str, Any]] = {"widths": (6, 4), "steps": 150, "batch_size": 32}

    readout: Literal["sum", "signed"] = "sum"
    """How a stage reads the layers below: ``sum`` = their frozen terms alpha_j Sum(G_j), as in the paper; ``signed`` =
    a trainable weight of either sign for each of their units, the stronger baseline."""

    def rate(self, d: int) -> float:
        """``lr``, by default a fifth of the joint learner's.

        Larger rates do worse here (d = 10, 20, n = 400 to 4000, factor 2 in NMSE at the joint learner's): they squeeze
        out the spare directions of a layer, of which the next one, once it is frozen, could have made use.
        """
        return super().rate(d) * (0.2 if self.lr is None and self.optimizer == "adam" else 1.0)

    def batch_key(self, train: Outline) -> Hashable:
        """Shapes, which depend on the read-out."""
        return (super().batch_key(train), self.readout)

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job]) -> Sequence[Predictor | Failure]:
        """Train all jobs as one ensemble per layer; each comes out as ``fit`` alone would make it."""
        from bfc_bench.toolkit.ensemble import train

        states = [_State(job.learner, job.learner.setup(job.train, job.ctx)) for job in jobs]  # type: ignore[arg-type,attr-defined]
        first = states[0]
        recipe = first.learner.recipe(top_layer, first.setup.net.d)
        for layer in first.setup.net.layers():
            alive = [state for state in states if state.failure is None]
            members = [state.member(layer) for state in alive]
            for state, result in zip(
                alive, train(recipe, members, first.learner.steps, device=jobs[0].ctx.device), strict=True
            ):
                state.freeze(layer, result)
        return [state.failure or state.predictor() for state in states]


def top_layer(params: Params, inputs: Params) -> Array:
    """F(x), (B,), when only the top layer is trained.

    ``inputs``: what feeds the layer, ``layer`` (B, q_l), and what is read of the layers below, ``below`` (B, r).
    ``params``: ``W`` (m_l, q_l), ``log_alpha`` (), ``readout`` (r,), ``constant`` ().
    """
    import jax.numpy as jnp

    s = params["W"] @ inputs["layer"].T
    return params["constant"] + inputs["below"] @ params["readout"] + jnp.exp(params["log_alpha"]) * (s * s).sum(0)


@dataclass
class _State:
    """One job between its stages."""

    learner: Layerwise
    setup: Setup
    losses: list[float] = field(default_factory=list)
    readouts: dict[int, np.ndarray] = field(default_factory=dict)
    stages: dict[str, QuadraticPredictor] = field(default_factory=dict)
    failure: Failure | None = None

    def member(self, layer: int) -> Member:
        """The model of one stage: the layers below are part of its inputs."""
        params, factors, signed = self.setup.params, self.learner.rate_factors(), self.learner.readout == "signed"
        pre, outputs = self.setup.net.below(layer - 1).forward(params, self.setup.x.T)
        if signed:
            units = [s * s for s in pre.values()]
        else:
            terms = [np.exp(params["log_alpha"][j - 2]) * (s * s).sum(0) for j, s in pre.items()]
            units = [np.sum(terms, axis=0)[None]] if terms else []
        below = np.concatenate(units) if units else np.empty((0, len(self.setup.y)))
        trained = {
            "W": params[f"W{layer}"],
            "log_alpha": params["log_alpha"][layer - 2],
            "constant": params["constant"],
            "readout": np.concatenate([*self.readouts.values(), []]) if signed else np.ones(len(below)),
        }
        rates = {
            "W": factors[f"W{layer}"],
            "log_alpha": factors["log_alpha"],
            "constant": 1.0,
            "readout": float(signed),
        }
        inputs = {"layer": self.setup.net.joined(outputs, layer).T, "below": below.T}
        return self.learner.member(self.setup, trained, rates, inputs, stream=layer)

    def freeze(self, layer: int, result: Trained) -> None:
        """Take over what a stage has trained."""
        net = self.setup.net.below(layer)
        if not result.finite:
            self.failure = diverged(self.learner, net.d, result.loss)
            return
        params, new = self.setup.params, result.params
        params |= {f"W{layer}": new["W"].astype(np.float64), "constant": new["constant"]}
        params["log_alpha"][layer - 2] = new["log_alpha"]
        self.losses.append(result.loss)
        if self.learner.readout == "signed":
            sizes = np.cumsum([len(weights) for weights in self.readouts.values()])
            self.readouts = (
                dict(zip(self.readouts, np.split(new["readout"], sizes[:-1]), strict=True)) if self.readouts else {}
            )
            self.readouts[layer] = np.full(net.widths[-1], np.exp(params["log_alpha"][layer - 2]))
        kept = {**params, "log_alpha": params["log_alpha"][: layer - 1].copy()}
        self.stages[f"layer{layer}"] = self.setup.predictor(net, kept, readouts=dict(self.readouts))

    def predictor(self) -> Predictor:
        """The last stage, which knows all of them."""
        final = self.setup.predictor(self.setup.net, self.setup.params, readouts=self.readouts, stages=self.stages)
        facts = self.learner.facts(self.setup.net.d, final)
        final.info = {
            **facts,
            "readout": self.learner.readout,
            "final_loss": self.losses[-1],
            "stage_losses": self.losses,
        }
        return final
