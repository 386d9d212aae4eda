"""The learning curve that a spectrum gives: limits that are known exactly."""

from math import inf

import numpy as np
import pytest

from bfc_bench.toolkit.kernels.ridge_theory import RidgeTheory
from bfc_bench.toolkit.kernels.spectrum import Spectrum


def linear(d, ridge=0.0, noise=0.0):
    """The linear kernel <x, z> / d under isotropic inputs with E|x|^2 = d, and a linear target."""
    return RidgeTheory(Spectrum(np.array([float(d)]), np.array([1 / d])), np.ones(1), ridge, noise)


@pytest.mark.parametrize("n", [1, 7, 20, 39])
def test_the_minimum_norm_solution_misses_what_n_of_d_directions_do_not_span(n):
    """E|(I - P) w|^2 / |w|^2 = 1 - n / d for the projection P onto n Gaussian points: exact."""
    assert linear(40).nmse(n) == pytest.approx(1 - n / 40, rel=1e-9)


@pytest.mark.parametrize("n", [41, 60, 400])
def test_least_squares_is_exact_without_noise_and_pays_d_over_n_minus_d_with_it(n):
    """s^2 d / (n - d - 1) is exact for Gaussian inputs; s^2 d / (n - d) as n and d grow in proportion."""
    assert linear(40).nmse(n) == pytest.approx(0, abs=1e-12)
    assert linear(40, noise=0.3).nmse(n) == pytest.approx(0.3 * 40 / (n - 40), rel=1e-9)


def test_at_n_equal_to_the_rank_noise_is_amplified_without_bound():
    assert linear(40, noise=0.1).nmse(40) == inf
    assert linear(40, noise=0.1).nmse(30) == pytest.approx(0.25 + 0.1 * 30 / 10)


@pytest.mark.parametrize("n", [10, 40, 90])
def test_ridge_regression_has_the_resolvent_of_marchenko_and_pastur(n):
    """kappa of one eigenvalue solves a quadratic: n = d l / (l + kappa) + delta / kappa."""
    d, delta, value = 40, 0.2, 1 / 40
    a, b = n, n * value - d * value - delta
    expected = (-b + np.sqrt(b**2 + 4 * a * delta * value)) / (2 * a)
    assert linear(d, delta).kappa(n) == pytest.approx(expected, rel=1e-10)


def test_nothing_is_known_at_first_and_everything_in_the_end():
    values = np.array([0.1, 0.03, 0.01, 0.001])
    spectrum = Spectrum(np.array([1.0, 6.0, 20.0, 50.0]), values, tail=0.05)
    theory = RidgeTheory(spectrum, np.array([0, 0.5, 0.25, 0.25]), ridge=1e-6)
    assert theory.nmse(1e-6) == pytest.approx(1, abs=1e-4)
    assert theory.nmse(1e9) == pytest.approx(0, abs=1e-6)
    unlearnable = RidgeTheory(spectrum, np.array([0, 0.5, 0, 0]), ridge=1e-6)
    assert unlearnable.nmse(1e9) == pytest.approx(0.5, abs=1e-6)


def test_the_tail_acts_as_a_ridge():
    values, count = np.array([0.02]), np.array([30.0])
    with_tail = RidgeTheory(Spectrum(count, values, tail=0.3), np.ones(1), ridge=0.1)
    with_ridge = RidgeTheory(Spectrum(count, values), np.ones(1), ridge=0.4)
    assert with_tail.nmse(50) == with_ridge.nmse(50)
