"""Locks a store for one writer, by ``flock``."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bfc_bench.errors import StoreError


@contextmanager
def lock_folder(directory: Path) -> Iterator[None]:
    """Make the folder of a store, if it is missing, and lock it. Raises ``StoreError`` at once if that fails."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process = file.read().strip()
            raise StoreError(
                f"The store in {directory} is in use by another bfc-bench{f' (process {process})' * bool(process)}. "
                "Wait until it has ended, or use another --store."
            ) from None
        except OSError as error:
            raise StoreError(
                f"The store in {directory} cannot be locked: {error.strerror}. Choose a --store on another disk."
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
