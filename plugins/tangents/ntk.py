"""Ridge regression with neural tangent kernels on the sphere, of raw inputs and of a random representation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from bfc_bench.learner import Context, Cost, TaskFacts, Theory
from bfc_bench.toolkit.ridge_learner import RidgeLearner, entry_flops

if TYPE_CHECKING:
    from bfc_plugins.tangents.sphere_tangents import SphereTangent
    from torch import Tensor

    from bfc_bench.toolkit.function_space import Space


class TangentLearner(RidgeLearner):
    """The linear Taylor model of an infinitely wide network around its random initial weights, by ridge regression.

    Model NTK-h of "Benefits of Neural Representations" (NR) with s = relu^2/2, whose kernel has a closed form. Inputs
    must have norm 1.
    """

    search: ClassVar[Mapping[str, Sequence[Any]]] = {"ridge": [10.0**k for k in range(-8, 1)]}

    represented: ClassVar[bool]
    """Whether the network reads a random representation of its inputs."""

    def kernel(self) -> SphereTangent:
        """The kernel of the infinitely wide limit, scaled to 1 on the diagonal."""
        from bfc_plugins.tangents.sphere_tangents import SphereTangent

        return SphereTangent(self.name, self.represented)

    def space(self, x: Tensor, ctx: Context) -> Space:
        """The kernel's Hilbert space over x (n, d)."""
        from bfc_bench.toolkit.function_space import KernelSpace

        return KernelSpace.on(x, self.kernel())

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Skip tasks with inputs off the unit sphere, where the closed forms do not hold."""
        if task.inputs == "sphere":
            return None
        return f"{self.name} is defined on the unit sphere; the task has {task.inputs} inputs"

    def theory(self, task: TaskFacts) -> Theory | None:
        """The learning curve that the kernel's eigenvalues on the sphere determine."""
        if not task.shares:
            return None
        from bfc_bench.toolkit.kernels.ridge_theory import sphere_theory

        return sphere_theory(self.kernel(), self.ridge, task)

    def cost(self, n: int, d: int) -> Cost:
        """Kernel matrix and Cholesky factorisation."""
        matrix = n**2 * (2.0 * d + entry_flops(1))
        return self.dual_cost(n, matrix, 16.0 * n**2 + 16.0 * n * d + 2**24, products=2.0 * n**2 * d)


class NtkRaw(TangentLearner):
    """``f(x) = m^-1/2 sum_r a_r s'(w_r . z) <u_r, z>`` with trained u_r, on z = (x, 1)/sqrt(2).

    NR section 2 with h(x) = x and a bias. As m grows its kernel tends to c E[s'(u) s'(u')] at c = <z, z'>. It needs
    about d^p samples for a polynomial of degree p, and no rotation-invariant kernel needs fewer (NR section 5, Ghorbani
    et al. 2019).
    """

    name: ClassVar[str] = "ntk-raw"
    represented: ClassVar[bool] = False


class NtkNeural(TangentLearner):
    """``f(x) = m^-1/2 sum_r a_r s'(w_r . h) <u_r, h>`` with trained u_r, on h = D^-1/2 g(V x + b), V and b random.

    NR section 5, with g the indicator. Its kernel tends to H_inf = k1(2 s) s / 2 with s = k0((1 + <x, x'>)/2) as m and
    D grow. Theorem 3: it needs d^p samples for a polynomial of degree p, as ``ntk-raw`` does: the representation gains
    nothing.
    """

    name: ClassVar[str] = "ntk-neural"
    represented: ClassVar[bool] = True
