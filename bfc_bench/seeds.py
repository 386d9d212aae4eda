"""Random streams: the one place where they are made.

A stream is keyed by its purpose, never by the order of calls, so that a result does not depend on what else ran, nor in
which process.
"""

import hashlib

import numpy as np

BLOCK = 1024
"""Rows drawn from one stream. Samples of any size are cut from whole blocks, so smaller samples are prefixes."""


def _entropy(key: tuple[object, ...]) -> int:
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in key)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "little")


def stream(*key: object) -> np.random.Generator:
    """A generator that depends on ``key`` alone, for example ``(suite_seed, task, d, replicate, "teacher")``."""
    return np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence(_entropy(key))))


def seed_of(*key: object) -> int:
    """A 31-bit seed that depends on ``key`` alone, for libraries that take an integer."""
    return _entropy(key) & 0x7FFF_FFFF
