"""Temporary folders of shards on a local disk. Folders of killed shards are removed."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp

PREFIX = "bfc-bench-scratch-"
"""Prefix of these folders. Each is locked while its shard runs. The kernel releases the lock, which works across
containers and cannot be confused by process ids that are used again."""


def local() -> Path:
    """The temporary folder of SLURM or the user on a disk of this machine."""
    return Path(os.environ.get("SLURM_TMPDIR") or gettempdir())


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder, removed at the end, or by the next shard on this machine."""
    for folder in local().glob(f"{PREFIX}*"):
        _remove_if_abandoned(folder)
    aside = Path(mkdtemp(prefix=f".{PREFIX}", dir=local()))
    file = os.open(aside, os.O_RDONLY)
    try:
        with suppress(OSError):  # no locks on this disk: other shards cannot lock and remove it either
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder = aside.rename(aside.with_name(aside.name[1:]))  # visible to others only when it is locked
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(file)


def _remove_if_abandoned(folder: Path) -> None:
    """Remove a folder of this user that is not locked. Links are not followed."""
    with suppress(OSError):
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(file).st_uid == os.getuid():
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(file)
