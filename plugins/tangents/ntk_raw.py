"""The neural tangent kernel of raw inputs, NTK-Raw of "Benefits of Neural Representations"."""

from typing import ClassVar

from bfc_plugins.tangents.base import TangentLearner

from bfc_bench.learner import TaskFacts
from bfc_bench.toolkit.parity import parity_caution


class NtkRaw(TangentLearner):
    """``f(x) = m^-1/2 sum_r a_r s'(w_r . z) <u_r, z>`` with trained u_r, on z = x, or (x, 1)/sqrt(2) with a bias.

    NR section 2 with h(x) = x. As m grows its kernel tends to c E[s'(u) s'(u')] at c = <z, z'>. It needs about d^p
    samples for a polynomial of degree p, and no rotation-invariant kernel needs fewer (NR section 5, Ghorbani et al.
    2019).
    """

    name: ClassVar[str] = "ntk-raw"
    represented: ClassVar[bool] = False

    def caution(self, task: TaskFacts, n: int) -> str | None:
        """Without bias, even degrees above 2 are missing.

        relu(t)^2 = (t^2 + sign(t) t^2) / 2: a polynomial of degree 2, and terms of odd degree.
        """
        who = f"{self.name} without bias"
        return parity_caution(who, lambda k: self.bias or k <= 2 or k % 2 == 1, task, "set bias = true")
