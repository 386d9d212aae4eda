"""A folder on this machine's disk for what a shard throws away; what shards left that were killed is removed."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp

PREFIX = "bfc-bench-scratch-"
"""How the names of these folders begin. Each is locked as long as its shard runs: the kernel lets go of it, whatever
process the number of that shard belongs to later, and whether or not it can be seen from here, as in a container."""


def local() -> Path:
    """A folder on a disk of this machine, as SLURM or the user names it."""
    return Path(os.environ.get("SLURM_TMPDIR") or gettempdir())


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that ends with this shard, or when the next one begins here."""
    for folder in local().glob(f"{PREFIX}*"):
        _remove_if_left(folder)
    aside = Path(mkdtemp(prefix=f".{PREFIX}", dir=local()))
    file = os.open(aside, os.O_RDONLY)
    try:
        with suppress(OSError):  # a disk without locks, where it is not removed by others either
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder = aside.rename(aside.with_name(aside.name[1:]))  # others meet it locked
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(file)


def _remove_if_left(folder: Path) -> None:
    """Remove a folder of this user's that nobody has; a link is not followed."""
    with suppress(OSError):
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(file).st_uid == os.getuid():
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(file)
