"""Precision is full where a learner computes, and a GPU that is not there is said to be missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bfc_bench.errors import UsageError
from bfc_bench.toolkit import precision


def test_cpu_needs_no_library():
    code = (
        "import sys; from bfc_bench.toolkit.precision import *; assert resolve_device('cpu') == 'cpu'; "
        "assert precision_state() == {}; assert not {'torch', 'jax'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_device_is_refused():
    with pytest.raises(UsageError, match=r"'auto', 'cpu' or 'cuda'. Got 'tpu'"):
        precision.resolve_device("tpu")


def test_missing_gpu(monkeypatch):
    monkeypatch.setattr(precision, "_driver_sees_gpus", lambda: 0)
    assert precision.resolve_device("auto") == "cpu"
    with pytest.raises(UsageError, match="neither torch nor jax"):
        precision.resolve_device("cuda")


def test_a_driver_without_a_library_that_sees_the_gpu_is_not_enough(monkeypatch):
    monkeypatch.setattr(precision, "_driver_sees_gpus", lambda: 1)
    monkeypatch.setattr(precision, "_torch_sees_gpu", lambda: False)
    monkeypatch.setattr(precision, "_jax_sees_gpu", lambda: False)
    assert precision.resolve_device("auto") == "cpu"
    monkeypatch.setattr(precision, "_jax_sees_gpu", lambda: True)
    assert precision.resolve_device("auto") == "cuda"


class Driver:
    """A CUDA driver with these GPUs."""

    def __init__(self, *names):
        self.names = names

    def cuDeviceGetCount(self, count):
        count._obj.value = len(self.names)
        return 0

    def cuDeviceGetName(self, name, size, device):
        name.value = self.names[device][: size - 1].encode()
        return 0


def test_provenance_names_the_gpu_that_was_computed_on(monkeypatch):
    monkeypatch.setattr(precision, "_driver", lambda: Driver("NVIDIA H100 80GB HBM3", "another"))
    assert precision.precision_state("cuda")["gpu"] == "NVIDIA H100 80GB HBM3"
    assert "gpu" not in precision.precision_state("cpu")
    for driver in (Driver(), None):
        monkeypatch.setattr(precision, "_driver", lambda driver=driver: driver)
        assert precision.gpu_name() == ""
        assert "gpu" not in precision.precision_state("cuda")


def test_torch_computes_in_full_float32():
    import torch

    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        precision.torch_device("cpu")
        state = precision.precision_state()
        assert state["torch_float32_matmul_precision"] == "highest"
        assert state["torch_cudnn_tf32"] is False
    finally:
        torch.set_float32_matmul_precision(before)


def test_jax_device_and_compile_cache():
    import jax

    assert precision.prepare_jax("cpu").platform == "cpu"
    assert jax.config.jax_compilation_cache_dir
    assert precision.precision_state()["jax"] == jax.__version__


def test_an_unwritable_cache_folder_is_done_without(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert precision._compile_cache() is None
