"""Precision is full where a learner computes, and a GPU that is not there is said to be missing."""

import pytest

from bfc_bench.errors import UsageError
from bfc_bench.toolkit import precision


def test_missing_gpu(monkeypatch):
    monkeypatch.setattr(precision, "count_gpus", lambda: 0)
    assert precision.resolve_device("auto") == "cpu"
    with pytest.raises(UsageError, match="neither torch nor jax"):
        precision.resolve_device("cuda")


def test_a_driver_without_a_library_that_sees_the_gpu_is_not_enough(monkeypatch):
    monkeypatch.setattr(precision, "count_gpus", lambda: 1)
    monkeypatch.setattr(precision, "_torch_sees_gpu", lambda: False)
    monkeypatch.setattr(precision, "_jax_sees_gpu", lambda: False)
    assert precision.resolve_device("auto") == "cpu"
    monkeypatch.setattr(precision, "_jax_sees_gpu", lambda: True)
    assert precision.resolve_device("auto") == "cuda"


@pytest.fixture
def torch():
    """torch, whose settings are restored after the test."""
    import torch

    with precision.prepared_torch("cpu"):
        yield torch


def test_torch_computes_in_full_float32(torch):
    torch.set_float32_matmul_precision("medium")
    precision.torch_device("cpu")
    state = precision.precision_state()
    assert state["torch_float32_matmul_precision"] == "highest"
    assert state["torch_cudnn_tf32"] is False


@pytest.mark.parametrize("new", [False, True])
def test_a_block_leaves_the_settings_of_torch_as_they_were(torch, new):
    backends = torch.backends
    if new and not hasattr(backends.cuda.matmul, "fp32_precision"):
        pytest.skip("this torch has no precision for each backend")
    backends.cudnn.allow_tf32 = True
    if new:
        backends.cuda.matmul.fp32_precision = "tf32"
    else:
        torch.set_float32_matmul_precision("medium")
    with precision.prepared_torch("cuda"):
        assert torch.get_float32_matmul_precision() == "highest"
        assert backends.cudnn.allow_tf32 is False
        assert torch.get_deterministic_debug_mode() == 1
    assert torch.get_deterministic_debug_mode() == 0
    assert backends.cudnn.allow_tf32 is True
    assert backends.cuda.matmul.fp32_precision == "tf32" if new else torch.get_float32_matmul_precision() == "medium"


def test_torch_takes_algorithms_that_repeat_themselves_on_a_gpu_and_only_there(torch, monkeypatch):
    cudnn, shares = torch.backends.cudnn, []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", shares.append)
    monkeypatch.setenv("BFC_BENCH_GPU_SHARE", "0.225")
    torch.set_deterministic_debug_mode("default")
    cudnn.deterministic, cudnn.benchmark = False, True
    precision.prepare_torch("cpu")
    assert (torch.get_deterministic_debug_mode(), cudnn.deterministic, cudnn.benchmark) == (0, False, True)
    assert shares == []
    precision.prepare_torch("cuda")
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.is_deterministic_algorithms_warn_only_enabled()
    assert (cudnn.deterministic, cudnn.benchmark) == (True, False)
    assert shares == [0.225]


def test_jax_device_and_compile_cache():
    import jax

    assert precision.prepare_jax("cpu").platform == "cpu"
    assert jax.config.jax_compilation_cache_dir
    assert precision.precision_state()["jax"] == jax.__version__
