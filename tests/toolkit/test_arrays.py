"""Arrays of NumPy, torch and JAX: the same numbers and types, and no memory that is shared where a copy is promised."""

import jax
import numpy as np
import pytest
import torch

from bfc_bench.toolkit.arrays import convert, to_numpy

TYPES = {"numpy": np.ndarray, "torch": torch.Tensor, "jax": jax.Array}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_an_array_goes_to_a_library_and_back(kind, dtype):
    x = np.arange(64, dtype=dtype).reshape(8, 8)
    there = convert(x, kind, "cpu")
    back = to_numpy(there)
    assert isinstance(there, TYPES[kind])
    assert (type(back), back.dtype) == (np.ndarray, dtype)
    np.testing.assert_array_equal(back, np.arange(64).reshape(8, 8))
    x[:] = -1
    assert (to_numpy(there) == -1).all() == (kind == "numpy"), "others are copies"


def test_a_tensor_with_a_gradient_is_an_array_too():
    x = torch.ones(3, requires_grad=True)
    np.testing.assert_array_equal(to_numpy(2 * x), [2, 2, 2])
