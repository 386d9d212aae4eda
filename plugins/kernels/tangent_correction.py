"""A round of backward feature correction with the tangent kernel of the features: Gauss-Newton on their axes.

f = h(p_L) is fitted by kernel ridge regression. If P_l becomes P_l + D_l with D_l orthogonal to P_l, f changes to first
order by g_l.(D_l^T phi_l'), with g_l = df / dp_l by the chain rule and phi_l' the part of phi_l outside P_l. The kernel
k(p_L, p_L) + sum_l e_l (g_l.g_l) (phi_l'.phi_l') therefore fits h and all D_l together, and its weights a give
D_l = e_l sum_i a_i phi_l'(z_i) g_l(z_i)^T. No line search.

Shapes: n points z; q_l inputs and k_l features of layer l.
"""

from __future__ import annotations

from collections.abc import Sequence

from bfc_plugins.kernels.feature_layers import FeatureLayers, outside
from bfc_plugins.kernels.leave_one_out import RidgeFit, ridge_fit
from bfc_plugins.kernels.polynomial import Poly
from torch import Tensor

SHARES = (0.1, 1e-3, 1e-5)
"""Values of each e_l to choose from, where the layer's part of the kernel is 1 on average on the diagonal."""


def correct_tangent(
    features: FeatureLayers, z: Tensor, y: Tensor, kernel: Poly, ridges: Sequence[float]
) -> FeatureLayers:
    """All layers of ``features``, turned with the ridge and the shares e_l of least leave-one-out error.

    The middle share comes first, with all ridges; then one layer after the other is changed, from the top down.
    """
    ps = features.features(z)
    gram = kernel.matrix(ps[-1], ps[-1])
    slopes = features.slopes(ps, kernel.gradients(ps[-1], ps[-1], ridge_fit(gram, y, ridges).weights))
    rests = [outside(phi, layer.axes) for phi, layer in zip(features.inputs(z), features.layers, strict=True)]
    turns = [(g @ g.T) * (rest @ rest.T) for g, rest in zip(slopes, rests, strict=True)]
    units = [1 / (float(turn.diagonal().mean()) or 1.0) for turn in turns]

    def fit(chosen: Sequence[float], among: Sequence[float]) -> RidgeFit:
        matrix = gram.clone()
        for share, unit, turn in zip(chosen, units, turns, strict=True):
            matrix.add_(turn, alpha=share * unit)
        return ridge_fit(matrix, y, among)

    chosen = [SHARES[len(SHARES) // 2]] * len(turns)
    best = fit(chosen, ridges)
    for layer in reversed(range(len(turns))):
        for share in SHARES:
            trial = [*chosen[:layer], share, *chosen[layer + 1 :]]
            if trial != chosen and (found := fit(trial, [best.ridge])).error < best.error:
                best, chosen = found, trial
    steps = [share * unit for share, unit in zip(chosen, units, strict=True)]
    weighted = [best.weights[:, None] * g for g in slopes]
    return features.turned([step * rest.T @ w for step, rest, w in zip(steps, rests, weighted, strict=True)])
