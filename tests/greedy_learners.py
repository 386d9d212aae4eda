"""Learners that take memory, take their time, or end their process as if from outside."""

import ctypes
import mmap
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
from breaking_learners import Mean, in_worker

from bfc_bench import Capabilities
from bfc_bench.tasks.inputs.uniform import Uniform


class Gradual(Mean):
    """Says in a file that its fit has begun, then takes its time in short steps."""

    name: ClassVar[str] = "gradual"
    path: str
    seconds: float

    def fit(self, train, ctx):
        Path(self.path).write_text("began")
        for _ in range(round(20 * self.seconds)):
            time.sleep(0.05)
        return super().fit(train, ctx)


class Deaf(Mean):
    """Starts a process, then waits in C for a minute while it holds Python's lock."""

    name: ClassVar[str] = "deaf"
    path: str

    def fit(self, train, ctx):
        Path(self.path).write_text(f"{os.getpid()} ")
        ctypes.PyDLL(None).sleep(60)
        return super().fit(train, ctx)


class Mortal(Mean):
    """Kills its process as if from outside, a number of times."""

    name: ClassVar[str] = "mortal"
    path: str
    times: int
    signal: int = 9

    def fit(self, train, ctx):
        fits = Path(self.path) / f"{train.n}"
        before = len(fits.read_text()) if fits.exists() else 0
        fits.write_text("." * (before + 1))
        if train.n == 20 and before < self.times:
            os.kill(os.getpid(), self.signal)
        return super().fit(train, ctx)


LEAKED: list[np.ndarray] = []


class Greedy(Mean):
    """Takes 0.6 GB, or seems to, or leaks memory in every fit."""

    name: ClassVar[str] = "greedy"
    how: str
    at: int = 20

    def fit(self, train, ctx):
        if self.at in (0, train.n):
            getattr(self, f"_{self.how}")()
        predictor = super().fit(train, ctx)
        predictor.info = {"process": os.getpid()}
        return predictor

    def _numpy(self):
        np.ones(75_000_000)

    def _lists(self):
        held = []
        while sys.getsizeof(held) < 5e9:
            held.append([0.0] * 1000)

    def _thread(self):
        failed: list[BaseException] = []

        def take():
            try:
                np.ones(75_000_000)
            except MemoryError as error:
                failed.append(error)

        thread = threading.Thread(target=take)
        thread.start()
        thread.join()
        raise failed[0]

    def _shared(self):
        """No limit of a process counts this memory."""
        with mmap.mmap(-1, 600_000_000) as memory:
            for start in range(0, len(memory), mmap.PAGESIZE):
                memory[start] = 1
            time.sleep(60)

    def _child(self):
        code = "import time; held = b'1' * 300_000_000; time.sleep(60)"
        subprocess.run([sys.executable, "-c", code], check=True)

    def _file(self):
        """Maps a file of that size, whose pages the system may drop at any time."""
        with tempfile.TemporaryFile() as file:
            file.truncate(600_000_000)
            with mmap.mmap(file.fileno(), 0) as mapped:
                assert not np.frombuffer(mapped, np.uint8).any()
            time.sleep(0.3)

    def _untouched(self):
        """Reserves addresses without using memory."""
        with mmap.mmap(-1, 6_000_000_000, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ):
            time.sleep(0.3)

    def _fork(self):
        """Starts children that share 0.06 to 0.12 GB and write to none of it."""
        code = "import os, time; held = b'1' * 60_000_000; os.fork(); os.fork(); time.sleep(0.5)"
        subprocess.run([sys.executable, "-c", code], check=True)

    def _leak(self):
        LEAKED.append(np.ones(2_500_000))


class GreedyTorch(Greedy):
    """Takes memory through torch."""

    name: ClassVar[str] = "greedy-torch"
    capabilities: ClassVar[Capabilities] = Capabilities(arrays=("torch",))

    def _torch(self):
        import torch

        [torch.ones(5_000_000, dtype=torch.float64) for _ in range(15)]


class GreedyJax(Greedy):
    """Takes memory through JAX, which it imports when it is used."""

    name: ClassVar[str] = "greedy-jax"

    def _jax(self):
        import jax.numpy as jnp

        [jnp.ones(5_000_000).block_until_ready() for _ in range(30)]

    def _compiled(self):
        import jax
        import jax.numpy as jnp

        jax.jit(lambda x: (jnp.outer(x, x) @ jnp.outer(x, jnp.sin(x))).sum())(jnp.ones(8000)).block_until_ready()


class GreedyInputs(Uniform):
    """Takes memory while points are drawn."""

    kind: ClassVar[str] = "greedy"

    def sample(self, rng, m, law):
        if in_worker():
            np.ones(75_000_000)
        return super().sample(rng, m, law)
