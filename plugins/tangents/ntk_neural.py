"""The neural tangent kernel of a random representation, NTK-Neural of "Benefits of Neural Representations"."""

from typing import ClassVar

from bfc_plugins.tangents.base import TangentLearner


class NtkNeural(TangentLearner):
    """``f(x) = m^-1/2 sum_r a_r s'(w_r . h) <u_r, h>`` with trained u_r, on h = D^-1/2 g(V x + b), V and b random.

    NR section 5, with g the indicator. With a bias its kernel tends to H_inf = k1(2 s) s / 2 with
    s = k0((1 + <x, x'>)/2) as m and D grow. Theorem 3: it needs d^p samples for a polynomial of degree p, as
    ``ntk-raw`` does: the representation gains nothing.
    """

    name: ClassVar[str] = "ntk-neural"
    represented: ClassVar[bool] = True
