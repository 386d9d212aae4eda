"""What units do on the nodes of a Ray cluster, which find this module by their own path."""

import os
import signal
import time
from pathlib import Path


def where(seconds):
    """What a worker is told of its node and of GPUs."""
    time.sleep(seconds)
    share = ("XLA_PYTHON_CLIENT_MEM_FRACTION", "BFC_BENCH_GPU_SHARE")
    names = ("BFC_NODE", "CUDA_VISIBLE_DEVICES", *share, "JAX_PLATFORMS")
    return " ".join(os.environ.get(name, "-") or "none" for name in names).encode()


def kills_its_actor(_):
    """Kills the actor of its node; this worker is a fork of a process that the actor has started."""
    fields = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
    os.kill(int(fields[1]), signal.SIGKILL)
    time.sleep(60)
    return b""


def meets(arguments):
    """Waits until so many units are at it at the same time."""
    folder, count = arguments
    Path(folder, str(os.getpid())).touch()
    deadline = time.monotonic() + 90
    while (there := len(os.listdir(folder))) < count:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{there} of {count} came")
        time.sleep(0.05)
    return b"met"


def secrets_seen(_):
    return " ".join(name for name in os.environ if name.startswith("RAY_AUTH_TOKEN") or "SECRET" in name).encode()


def deed(payload):
    what, value = payload
    return what(value)
