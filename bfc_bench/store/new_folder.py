"""Makes a folder in one step: it appears under its name when it is complete."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bfc_bench.errors import OutputError, StoreError


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary private folder, which is renamed to ``path`` at the end of the block if there was no error.

    Raises ``StoreError`` if ``path`` exists and is not an empty folder, ``OutputError`` if it cannot be made.
    """
    path = Path(os.path.abspath(path))
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise StoreError(f"{path} exists. Name a folder that does not exist; it will be made.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(".new", f".{path.name[:150]}.", path.parent, ignore_cleanup_errors=True) as temporary:
            yield Path(temporary)
            os.replace(temporary, path)
    except OSError as error:
        raise OutputError(f"{path} cannot be made: {error.strerror or error}.") from None
