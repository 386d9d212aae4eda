"""The neural tangent kernel of raw inputs, NTK-Raw of "Benefits of Neural Representations"."""

from __future__ import annotations

from typing import ClassVar

from bfc_plugins.tangents.base import TangentLearner
from bfc_plugins.tangents.rectified import ORDER

from bfc_bench.learner import TaskFacts
from bfc_bench.toolkit.parity import parity_caution


class NtkRaw(TangentLearner):
    """``f(x) = m^-1/2 sum_r a_r s'(w_r . z) <u_r, z>`` with trained u_r, on z = x, or (x, 1)/sqrt(2) with a bias.

    NR section 2 with h(x) = x. As m grows its kernel tends to c E[s'(u) s'(u')] at c = <z, z'>. It needs about d^p
    samples for a polynomial of degree p, and no rotation-invariant kernel needs fewer (NR section 5, Ghorbani et al.
    2019).
    """

    name: ClassVar[str] = "ntk-raw"

    def caution(self, task: TaskFacts, n: int) -> str | None:
        """Without bias, an activation of order q lacks degrees k > q of the parity of q.

        relu(t)^q = (t^q + sign(t) t^q) / 2: a polynomial of degree q, and terms of the other parity.
        """
        order, who = ORDER[self.activation], f"{self.name} with activation = {self.activation!r} and no bias"
        remedy = "set bias = true or take another activation"
        return parity_caution(who, lambda k: self.bias or k <= order or (k - order) % 2 == 1, task, remedy)
