"""What a driver says of GPUs, how their memory is shared out, and the variables with which results repeat themselves.

The GPUs are declared.
"""

import pytest
from declared_gpus import H200, Driver, declare

from bfc_bench.toolkit import gpu


def test_the_driver_tells_names_and_the_least_memory(monkeypatch):
    declare(monkeypatch, H200, ("NVIDIA A100-SXM4-40GB", 40 * 10**9))
    assert gpu.count_gpus() == 2
    assert gpu.visible_gpus() == ["0", "1"]
    assert gpu.gpu_name() == "NVIDIA H200"
    assert gpu.gpu_memory() == 40 * 10**9
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, GPU-5")
    assert gpu.visible_gpus() == ["3", "GPU-5"]


@pytest.mark.parametrize("driver", [None, Driver()])
def test_where_there_is_no_gpu_nothing_is_said_of_one(driver, monkeypatch):
    monkeypatch.setattr(gpu, "driver", lambda: driver)
    assert (gpu.count_gpus(), gpu.gpu_name(), gpu.gpu_memory(), gpu.cell_memory(), gpu.jax_memory()) == (0, "", 0, 0, 0)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_all_libraries_of_all_workers_together_stay_within_a_gpus_memory(workers, monkeypatch):
    declare(monkeypatch, H200)
    told = gpu.share_of_gpu(workers)
    parts = [float(share) for share in told.values()]
    assert parts == [pytest.approx(0.45 / workers, abs=1e-3)] * 2
    assert workers * sum(parts) <= gpu.SHARE + 1e-2
    assert gpu.cell_memory(workers) == int(H200[1] * 0.45 / workers)


def test_in_a_worker_jax_has_what_the_worker_was_told(monkeypatch):
    declare(monkeypatch, H200)
    for name, share in gpu.share_of_gpu(3).items():
        monkeypatch.setenv(name, share)
    assert gpu.jax_memory() == int(H200[1] * 0.15)


def test_who_says_what_jax_may_take_leaves_the_rest_to_torch(monkeypatch):
    declare(monkeypatch, H200)
    monkeypatch.setenv(gpu.JAX_VARIABLE, "0.1")
    assert gpu.share_of_gpu(2) == {gpu.JAX_VARIABLE: "0.050", gpu.TORCH_VARIABLE: "0.400"}
    assert gpu.cell_memory() == int(H200[1] * 0.8)
    monkeypatch.setenv(gpu.JAX_VARIABLE, "7")
    assert gpu.shares() == pytest.approx((0.9 * gpu.SHARE, 0.1 * gpu.SHARE))
