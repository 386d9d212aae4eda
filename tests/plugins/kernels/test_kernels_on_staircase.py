"""Every kernel of the package goes down the stairs of degrees as the theory of ridge regression says.

Shapes: K degrees with kernel eigenvalues lambda_k of multiplicity B(d, k).
"""

from typing import get_args

import numpy as np
import pytest
import torch
from bfc_plugins.kernels.kernel_ridge import KernelRidge
from bfc_plugins.tangents.ntk import NtkNeural, NtkRaw
from scipy.optimize import brentq
from scipy.special import roots_gegenbauer

from bfc_bench.learner import Context, Data, Job, Learner, TaskFacts
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.tasks.inputs.uniform import Sphere
from bfc_bench.tasks.targets.staircase import Staircase
from bfc_bench.utils.legendre import harmonics_dimension, legendre

D, P, RIDGE, REPLICATES = 8, 3, 1e-4, 3
B = [harmonics_dimension(D, k) for k in range(60)]
SIZES = (11, 112, 360, 1500)
"""From B(8, 3) / 10 to far above it."""
RAW = {"with_squares": False, "ridge": RIDGE}
KERNELS = {
    "rbf": KernelRidge(kernel="rbf", gamma=1.0, **RAW),
    "laplace": KernelRidge(kernel="laplace", gamma=1.0, **RAW),
    "poly": KernelRidge(kernel="poly", degree=4, gamma=1.0, **RAW),
    "harmonic": KernelRidge(kernel="harmonic", degree=3, gamma=1.0, with_squares=False, ridge=1.0),
    "nngp": KernelRidge(kernel="nngp", bias_variance=1.0, **RAW),
    "nngp, no bias": KernelRidge(kernel="nngp", **RAW),
    "ntk": KernelRidge(kernel="ntk", depth=2, bias_variance=0.5, **RAW),
    "ntk-raw": NtkRaw(ridge=RIDGE),
    "ntk-neural": NtkNeural(ridge=RIDGE),
}
TASK = TaskFacts("t", "sphere", "staircase", "clean", "real", D, 0, (1, 2, 3), (1 / 3, 1 / 3, 1 / 3), 0.0)
CTX = Context(square_mean=np.full(D, 1 / D))
TEACHERS = [
    Staircase(degree=P).draw(np.random.default_rng(r), Sphere().law(np.random.default_rng(0), D))
    for r in range(REPLICATES)
]


@pytest.fixture(params=KERNELS)
def name(request):
    if reason := KERNELS[request.param].skip(TASK, 1):
        pytest.skip(reason)
    return request.param


def points(m, *seed):
    return Sphere().law(np.random.default_rng(0), D).sample(np.random.default_rng(seed), m)


def spectrum(learner):
    """lambda_k, (60,), by quadrature of the kernel as a function of <x, z>."""
    nodes, weights = roots_gegenbauer(1000, (D - 2) / 2)
    x, z = np.zeros((1, D)), np.zeros((1000, D))
    x[0, 0], z[:, 0], z[:, 1] = 1, nodes, np.sqrt(1 - nodes**2)
    space = learner.space(torch.from_numpy(x), CTX)
    values = space.kernel.matrix(space.points, space.kernel.points(torch.from_numpy(z)))[0].numpy()
    return np.array([max(values * legendre(D, k, nodes) @ weights / weights.sum(), 0) for k in range(60)])


def predicted(eigenvalues, n, ridge):
    """Error, and R^2 of degrees 1..P, (P,), after n points: the eigenframework of ridge regression (Simon et al. 2023).

    kappa solves sum_k B_k L_k + ridge / kappa = n with the learnabilities L_k = lambda_k / (lambda_k + kappa). The
    error of an eigenfunction with coefficient v is (1 - L)^2 v^2 + L^2 E / n, E the error of all of them. Degrees
    beyond the last act as noise-free ridge, by their share of the kernel's trace.
    """
    rest = max(1 - float(np.dot(B, eigenvalues)), 0)  # of the kernel's diagonal, 1
    kappa = brentq(lambda q: np.dot(B, eigenvalues / (eigenvalues + q)) + (ridge + rest) / q - n, 1e-12, 1e3)
    learned = eigenvalues / (eigenvalues + kappa)
    bias = (1 - learned[1 : P + 1]) ** 2 / P
    error = bias.sum() / (1 - np.dot(B, learned**2) / n)
    return error, 1 - P * (bias + np.array(B[1 : P + 1]) * learned[1 : P + 1] ** 2 * error / n)


@pytest.fixture(scope="module")
def measured():
    """R^2 of degrees 1..P by kernel and size, means over the teachers."""
    here = {name: learner for name, learner in KERNELS.items() if not learner.skip(TASK, 1)}
    found = {name: np.zeros((len(SIZES), P)) for name in here}
    for replicate, teacher in enumerate(TEACHERS):
        x, test = points(SIZES[-1], 1, replicate), points(1536, 2, replicate)
        train = {"sample": f"{replicate}", "d": D}
        y = torch.from_numpy(teacher(x))
        for name, learner in here.items():
            jobs = [Job(learner, Data(n=n, x=torch.from_numpy(x[:n]), y=y[:n], **train), CTX) for n in SIZES]
            fitted = type(learner).fit_batch(jobs)
            for k, values in enumerate(type(learner).predict_batch(fitted, [torch.from_numpy(test)] * len(SIZES))):
                errors = np.array(list(teacher.part_errors(test, values.numpy()).values()))
                found[name][k] += (1 - errors) / REPLICATES
    return found


def test_every_learner_and_every_kernel_with_a_theory_stands_here():
    registered = load_plugins().learners
    offering = {cls for cls in map(registered.get, registered) if cls.theory is not Learner.theory}
    assert {type(learner) for learner in KERNELS.values()} == {cls for cls in offering if "sketched" not in cls.name}
    families = {learner.kernel for learner in KERNELS.values() if isinstance(learner, KernelRidge)}
    assert families == set(get_args(KernelRidge.model_fields["kernel"].annotation))


def test_each_degree_is_learned_when_theory_says(name, measured):
    """Within .15 at n = B(d, 3) and far above, whatever the kernel: nothing is fitted. Learners offer this theory."""
    learner = KERNELS[name]
    eigenvalues, theory = spectrum(learner), learner.theory(TASK)
    for n, r2 in zip(SIZES[1:], measured[name][1:], strict=True):
        error, expected = predicted(eigenvalues, n, learner.ridge)
        np.testing.assert_allclose(r2, expected, atol=0.15, err_msg=f"n = {n}")
        assert theory.nmse(n) == pytest.approx(error, rel=1e-4)


def test_no_kernel_learns_a_degree_from_a_tenth_of_its_dimension(name, measured):
    """B L <= n, so that R^2 <= 1 - (1 - n/B)^2: .19 at n = B/10. Beside it .08, four standard errors."""
    assert 9 < B[3] / SIZES[0] < 11
    assert measured[name][0, 2] < 0.19 + 0.08
