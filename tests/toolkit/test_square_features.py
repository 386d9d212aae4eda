"""The input with squares."""

import jax.numpy as jnp
import numpy as np
import torch

from bfc_bench.learner import Context
from bfc_bench.toolkit.square_features import input_scale, nominal_square_norm, square_mean, with_squares

X = np.random.default_rng(0).uniform(-2, 2, (50, 3))
LAW = np.array([1.0, 2.0, 0.5])


def test_exactly_x_and_centred_squares_in_every_array_library():
    expected = np.hstack([X, X**2 - LAW])
    assert np.array_equal(with_squares(X, LAW), expected)
    tensor = with_squares(torch.from_numpy(X), LAW)
    assert tensor.dtype == torch.float64
    assert np.array_equal(tensor.numpy(), expected)
    assert with_squares(torch.from_numpy(X).float(), LAW).dtype == torch.float32
    assert np.allclose(with_squares(jnp.asarray(X, dtype=jnp.float32), LAW), expected, atol=1e-5)


def test_the_law_is_preferred_to_the_sample():
    assert np.array_equal(square_mean(X, Context(square_mean=LAW)), LAW)
    for x in (X, torch.from_numpy(X)):
        assert np.allclose(square_mean(x, Context()), (X**2).mean(0), rtol=1e-14)


def test_scaled_inputs_have_mean_square_1_without_a_column_that_is_left_out():
    assert np.isclose(np.mean((input_scale(square_mean(X, Context())) * X) ** 2), 1, rtol=1e-12)
    assert input_scale(LAW, 1) == 1 / 0.75**0.5
    assert input_scale(np.zeros(3)) == 1


def test_nominal_square_norm():
    assert nominal_square_norm(np.ones(5), squares=False) == 5
    assert nominal_square_norm(np.ones(5), squares=True) == 10
    assert nominal_square_norm(np.full(4, 0.25), squares=True) == 1.25
