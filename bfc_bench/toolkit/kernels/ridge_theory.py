"""The learning curve of kernel ridge regression from the kernel's spectrum alone: nothing is fitted.

Bordelon, Canatar & Pehlevan, "Spectrum dependent learning curves in kernel regression and wide neural networks" (2020);
Canatar, Bordelon & Pehlevan (2021); Simon, Dickens, Karkada & DeWeese, "The eigenlearning framework" (2021), whose
names are used: with eigenvalues lambda_k of multiplicity B_k and ridge delta, kappa solves

    n = sum_k B_k L_k + delta / kappa,    L_k = lambda_k / (lambda_k + kappa),

and the expected error against labels with noise of variance s^2 is

    E = n / (n - sum_k B_k L_k^2) (sum_k v_k (1 - L_k)^2 + s^2),

v_k the target's square norm in the eigenspace of lambda_k. Eigenvalues that are far below kappa act as a ridge of
their sum. The formulas are exact as n and the B_k grow in proportion, for eigenfunctions that behave as if they were
Gaussian and independent; on the sphere they hold within a few percent from n of some tens on.

Shapes: K eigenvalues.
"""

from dataclasses import dataclass
from math import exp, inf, log

import numpy as np

from bfc_bench.learner import TaskFacts, Theory
from bfc_bench.toolkit.kernels.base import Kernel
from bfc_bench.toolkit.kernels.spectrum import Spectrum, sphere_spectrum

SOURCE = "Bordelon, Canatar & Pehlevan 2020; Simon et al. 2021"


@dataclass(frozen=True, eq=False)
class RidgeTheory:
    """Ridge regression min sum_i (y_i - f(x_i))^2 + ridge |f|^2 with a kernel of known spectrum, on a known target."""

    spectrum: Spectrum
    shares: np.ndarray
    """v_k over the target's variance, (K,). If they sum to less than 1, the rest is beyond the spectrum and not
    learned."""
    ridge: float = 0.0
    noise: float = 0.0
    """s^2 over the target's variance."""

    @property
    def shift(self) -> float:
        """delta: the ridge and the tail of the spectrum, which acts as a ridge."""
        return self.ridge + self.spectrum.tail

    def kappa(self, n: float) -> float:
        """The effective regularisation at n > 0 points; 0 if they determine every eigenfunction and delta is 0."""
        from scipy.optimize import brentq

        counts, values = self._positive
        if not self.shift and n >= counts.sum():
            return 0.0
        # Both ends are bounds: sum_k B_k L_k lies below trace / kappa, and above rank - kappa sum_k B_k / lambda_k.
        highest = (float(counts @ values) + self.shift) / n
        lowest = self.shift / n if self.shift else (float(counts.sum()) - n) / float(counts @ (1 / values))

        def excess(log_kappa: float) -> float:
            kappa = exp(log_kappa)
            return float(counts @ (values / (values + kappa))) + self.shift / kappa - n

        if not lowest < highest:  # no eigenvalue is positive, or all are equal without a ridge
            return highest
        return exp(brentq(excess, log(lowest) - 1e-9, log(highest) + 1e-9, xtol=1e-13, rtol=1e-13))

    def nmse(self, n: float) -> float:
        """Expected error on fresh points against the target itself, over its variance; inf if n is the rank."""
        kappa = self.kappa(n)
        values = self.spectrum.eigenvalues
        learned = np.divide(values, values + kappa, out=np.zeros_like(values), where=values > 0)
        # n - sum_k B_k L_k^2, without cancellation.
        free = float(self.spectrum.multiplicities @ (learned * (1 - learned)))
        free += self.shift / kappa if kappa else n - float(self._positive[0].sum())
        if not free > 0:
            return inf
        missed = float(self.shares @ (1 - learned) ** 2) + max(0.0, 1.0 - float(self.shares.sum()))
        return n / free * (missed + self.noise) - self.noise

    @property
    def _positive(self) -> tuple[np.ndarray, np.ndarray]:
        """Multiplicities and values of the positive eigenvalues."""
        above = self.spectrum.eigenvalues > 0
        return self.spectrum.multiplicities[above], self.spectrum.eigenvalues[above]


def sphere_theory(kernel: Kernel, ridge: float, task: TaskFacts) -> Theory | None:
    """The learning curve of ridge regression with a rotation-invariant kernel, where theory gives one, else None.

    Inputs must be uniform on the sphere, the target's share in each degree known, and labels the target with
    independent noise. The mean of the labels, which learners may subtract, is one function among n and is ignored.
    """
    if task.inputs != "sphere" or not task.shares or task.noise_variance is None:
        return None
    spectrum = sphere_spectrum(kernel, task.d)
    shares = np.zeros_like(spectrum.eigenvalues)
    for degree, share in zip(task.degrees, task.shares, strict=True):
        if degree < len(shares):
            shares[degree] = share
    return Theory(RidgeTheory(spectrum, shares, ridge, task.noise_variance).nmse, SOURCE)
