"""Bands against Cholesky factors, and the choice between them."""

import numpy as np
import pytest
import torch

from bfc_bench.toolkit.band import WIDTH, Band, banded_sizes
from bfc_bench.toolkit.function_space import KernelSpace
from bfc_bench.toolkit.kernels.by_name import make_kernel
from bfc_bench.toolkit.ridge import RidgeCurve

RIDGES = [10.0**k for k in range(-6, 4)]


def symmetric(n, condition):
    """A matrix (n, n) with eigenvalues from 1 to 1 / condition, between orthogonal factors that a seed gives."""
    q = torch.linalg.qr(torch.from_numpy(np.random.default_rng(n).standard_normal((n, n))))[0]
    return q @ torch.diag(torch.logspace(0, -np.log10(condition), n, dtype=q.dtype)) @ q.T


@pytest.mark.parametrize("exponent", range(1, 11))
def test_weights_are_those_of_a_factor_and_so_are_errors_where_the_matrix_is_badly_conditioned(exponent):
    matrix = symmetric(4 * WIDTH + 5, 10.0**exponent)
    targets = torch.from_numpy(np.random.default_rng(exponent).standard_normal((len(matrix), 3)))
    solved = Band(matrix.tril()).solve(targets, [0.0, *RIDGES])
    assert solved.keys() == {0.0, *RIDGES}
    for ridge, weights in solved.items():
        condition = (1 + ridge) / (10.0**-exponent + ridge)
        factor = RidgeCurve(matrix).solve(targets, [len(matrix)], ridge, center=False).weights[:, 0]
        if condition < 1e8:
            assert (weights - factor).norm() <= 1e-8 * factor.norm()
        fits = [matrix @ found - targets for found in (weights, factor)]
        assert (fits[0] - fits[1]).norm() <= 1e-6 * targets.norm()


@pytest.mark.parametrize("n", [1, 2, WIDTH, WIDTH + 1, WIDTH + 2, WIDTH + 3, 2 * WIDTH + 1])
def test_orders_around_the_width_are_solved_and_the_band_has_the_eigenvalues(n):
    matrix, targets = symmetric(n, 1e3), torch.ones(n, 1, dtype=torch.float64)
    band = Band(matrix.tril())
    rows = enumerate(band.diagonals)
    reduced = sum((torch.diag(row[: n - j], -j) for j, row in rows), torch.zeros_like(matrix))
    torch.testing.assert_close(torch.linalg.eigvalsh(reduced), torch.linalg.eigvalsh(matrix), atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(matrix @ band.solve(targets, [0.0])[0.0], targets, atol=1e-10, rtol=0)


def test_ridges_that_leave_no_factor_are_left_out():
    matrix = symmetric(3 * WIDTH, 10.0) - 0.5 * torch.eye(3 * WIDTH, dtype=torch.float64)
    targets = torch.ones(len(matrix), 1, dtype=torch.float64)
    assert Band(matrix.clone()).solve(targets, [0.1, 1.0]).keys() == {1.0}
    matrix[200, 100] = torch.nan
    assert not Band(matrix).solve(targets, [1.0])


def test_a_fit_does_not_depend_on_the_others_of_its_batch():
    """Repeated points leave no factor without a ridge; the fit gets the jitter that it gets alone."""
    rng = np.random.default_rng(0)
    x, y = torch.from_numpy(rng.standard_normal((700, 4))), torch.from_numpy(rng.standard_normal((700, 2)))
    x[350:] = x[:350]
    space = KernelSpace.on(x, make_kernel("rbf", 0.3))
    wanted = {ridge: [100, 700] for ridge in (0.0, *RIDGES)}
    assert banded_sizes(wanted, 2) == [700]
    together = space.solve(x, y, wanted, True)
    for ridge, n in [(0.0, 700), (1e-4, 700), (1e-2, 100), (1.0, 700)]:
        alone = space.solve(x[:n], y[:n], {ridge: [n]}, True)[ridge, n]
        found = together[ridge, n]
        assert torch.equal(found.offset, alone.offset)
        assert (found.weights - alone.weights).norm() <= 1e-8 * alone.weights.norm()
        assert found.info == alone.info
        assert (found.info["jitter"] > 0) == (ridge == 0)


def test_bands_are_chosen_where_they_take_fewer_operations():
    def banded(sizes, ridges=10, columns=1):
        return banded_sizes({RIDGES[k]: sizes for k in range(ridges)}, columns)

    curve = (200, 400, 800, 1500, 2500, 4000)
    assert banded(curve)[:2] == [4000, 2500]
    assert banded(curve, ridges=4) == []  # a band costs as much as five factors
    assert banded(range(200, 4001, 200)) == []  # a factor serves 20 sizes
    assert len(banded(curve, columns=100)) > len(banded(curve))  # a factor is used at its full order for every size
    assert banded([100]) == []  # calls cost more than operations
    assert banded_sizes({}, 1) == []
    assert banded_sizes({RIDGES[0]: [4000], **{ridge: [400] for ridge in RIDGES[1:]}}, 1) == []
