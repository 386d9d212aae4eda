"""A round of backward feature correction with the tangent kernel of the features: Gauss-Newton on their axes.

f = h(p_L) is fitted by kernel ridge regression. If P_l becomes P_l + D_l with D_l orthogonal to P_l, f changes to first
order by g_l.(D_l^T phi_l'), with g_l = df / dp_l by the chain rule and phi_l' the part of phi_l outside P_l. The kernel
k(p_L, p_L) + sum_l e_l (g_l.g_l) (phi_l'.phi_l') therefore fits h and all D_l together, and its weights a give
D_l = e_l sum_i a_i phi_l'(z_i) g_l(z_i)^T. No line search.

A leave-one-out error with fixed axes is too small: they were turned with the label of the point that is left out. That
of this kernel with large e_l lets them turn without it, to first order.

Shapes: n points z; q_l inputs and k_l features of layer l.
"""

from collections.abc import Sequence

from bfc_plugins.kernels.feature_layers import FeatureLayers, outside
from bfc_plugins.kernels.leave_one_out import RidgeFit, ridge_fit
from bfc_plugins.kernels.polynomial import Poly
from torch import Tensor

SHARES = (0.1, 1e-3, 1e-5)
"""Values of each e_l to choose from, where the layer's part of the kernel is 1 on average on the diagonal."""


FREE = 100.0
"""Value of every e_l that leaves the axes free to turn."""


class Tangents:
    """The parts of the kernel of a fit with weights a."""

    def __init__(self, features: FeatureLayers, z: Tensor, kernel: Poly, weights: Tensor) -> None:
        """Those of the fit with ``weights`` (n,) on the top layer of ``features`` at z."""
        self.features = features
        ps = features.features(z)
        self.gram = kernel.matrix(ps[-1], ps[-1])
        """k(p_L, p_L), (n, n)."""
        self.slopes = features.slopes(ps, kernel.gradients(ps[-1], ps[-1], weights))
        """g_l, each (n, k_l)."""
        self.rests = [outside(phi, layer.axes) for phi, layer in zip(features.inputs(z), features.layers, strict=True)]
        """phi_l', each (n, q_l)."""
        self.turns = [(g @ g.T) * (rest @ rest.T) for g, rest in zip(self.slopes, self.rests, strict=True)]
        """(g_l.g_l) (phi_l'.phi_l'), each (n, n)."""
        self.units = [1 / (float(turn.diagonal().mean()) or 1.0) for turn in self.turns]
        """Factors that make the average of each turn's diagonal 1."""

    def free_error(self, y: Tensor, ridge: float) -> float:
        """Leave-one-out error of a fit that turns the axes with it, so that a point that is left out turns nothing."""
        return self._fit([FREE] * len(self.turns), y, [ridge]).error

    def corrected(self, y: Tensor, ridges: Sequence[float]) -> FeatureLayers:
        """All layers, turned with the ridge and the shares e_l of least leave-one-out error.

        The middle share comes first, with all ridges; then one layer after the other is changed, from the top down.
        """
        chosen = [SHARES[len(SHARES) // 2]] * len(self.turns)
        best = self._fit(chosen, y, ridges)
        for layer in reversed(range(len(self.turns))):
            for share in SHARES:
                trial = [*chosen[:layer], share, *chosen[layer + 1 :]]
                if trial != chosen and (candidate := self._fit(trial, y, [best.ridge])).error < best.error:
                    best, chosen = candidate, trial
        steps = [share * unit for share, unit in zip(chosen, self.units, strict=True)]
        weighted = [best.weights[:, None] * g for g in self.slopes]
        parts = zip(steps, self.rests, weighted, strict=True)
        return self.features.turned([step * rest.T @ w for step, rest, w in parts])

    def _fit(self, shares: Sequence[float], y: Tensor, ridges: Sequence[float]) -> RidgeFit:
        """The regression with shares e_l."""
        matrix = self.gram.clone()
        for share, unit, turn in zip(shares, self.units, self.turns, strict=True):
            matrix.add_(turn, alpha=share * unit)
        return ridge_fit(matrix, y, ridges)
