"""L-BFGS: known minima, and when it stops."""

import pytest
import torch

from bfc_bench.toolkit.lbfgs import ROUND, minimise


def rosenbrock(p, scale=1.0):
    x, y = p
    value = scale * ((1 - x) ** 2 + 100 * (y - x**2) ** 2)
    return value, scale * torch.stack([-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)])


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_minimum_is_found_in_any_unit(scale):
    start = torch.tensor([-1.2, 1.0], dtype=torch.float64)
    found = minimise(lambda p: rosenbrock(p, scale), start, iterations=500, tolerance=1e-12, unit=scale)
    torch.testing.assert_close(found, torch.ones(2, dtype=torch.float64), atol=1e-6, rtol=0)
    assert start.tolist() == [-1.2, 1.0]
    assert not found.requires_grad


def values_until_the_end(**options):
    seen = []

    def noted(p):
        value, gradient = rosenbrock(p)
        seen.append(float(value))
        return value, gradient

    end = minimise(noted, torch.tensor([-1.2, 1.0], dtype=torch.float64), **options)
    return len(seen), float(rosenbrock(end)[0])


def test_it_stops_after_the_iterations_or_where_a_round_gains_too_little():
    short, far = values_until_the_end(iterations=ROUND, tolerance=0.0)
    longer, nearer = values_until_the_end(iterations=2 * ROUND, tolerance=0.0)
    content, there = values_until_the_end(iterations=100 * ROUND, tolerance=1e-3)
    assert ROUND <= short < longer <= 3 * short
    assert far > nearer > there
    # A round that gains less than a thousandth is the last one; a gain that never suffices leaves two rounds.
    assert content < 12 * ROUND
    assert values_until_the_end(iterations=100 * ROUND, tolerance=1e9)[0] == longer


def test_an_objective_that_is_not_finite_ends_it():
    calls = []

    def broken(p):
        calls.append(p)
        return torch.tensor(torch.nan), torch.full_like(p, torch.nan)

    minimise(broken, torch.zeros(2), iterations=10**6, tolerance=0.0)
    assert len(calls) < 100
