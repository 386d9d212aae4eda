"""Replaces the CUDA driver by one that reports chosen GPUs."""

from bfc_bench.toolkit import gpu

H200 = ("NVIDIA H200", 150_000_000_000)
"""Name and memory in bytes."""


class Driver:
    """A CUDA driver with these GPUs, each a name and its memory in bytes."""

    def __init__(self, *gpus):
        self.gpus = gpus

    def cuDeviceGetCount(self, count):
        count._obj.value = len(self.gpus)
        return 0

    def cuDeviceGetName(self, name, size, device):
        name.value = self.gpus[device][0][: size - 1].encode()
        return 0

    def cuDeviceTotalMem_v2(self, total, device):
        total._obj.value = self.gpus[device][1]
        return 0


def declare(monkeypatch, *gpus):
    """Replace the driver for the rest of a test, and remove the variables that limit GPUs."""
    monkeypatch.setattr(gpu, "driver", lambda: Driver(*gpus))
    for name in (gpu.JAX_VARIABLE, gpu.TORCH_VARIABLE, *gpu.CUBLAS, "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
