"""Where files of public data sets are: in a folder of the user's, in the system's packages, in the cache.

A run never downloads. ``fetch`` does, for the verb ``data get``, and checks what came.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from bfc_bench.errors import BenchError, OutputError, UsageError, message
from bfc_bench.tasks import DATA_VARIABLE
from bfc_bench.utils.files import cache_folder


class Missing(UsageError):
    """A file of a public data set is nowhere."""


def folders(kind: str) -> list[Path]:
    """Where files of a kind are looked for, the first that has them."""
    own = os.environ.get(DATA_VARIABLE)
    system = [Path(part) / "datasets" / kind for part in _system() if part]
    found = [*((Path(own) / kind, Path(own)) if own else ()), *system]
    with suppress(OutputError):
        found.append(cache_folder() / "data" / kind)
    return found


def _system() -> list[str]:
    return (os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(os.pathsep)


def find(kind: str, *names: str, package: str = "") -> Path:
    """The first of the files or folders that is there. Raises ``Missing`` that says what to type."""
    looked = folders(kind)
    for folder in looked:
        for name in names:
            if (folder / name).exists():
                return folder / name
    or_package = f", or `apt-get install {package}` on Debian" if package else ""
    raise Missing(
        f"{kind}: there is no {' or '.join(names)} in {', '.join(map(str, looked))}. `bfc-bench data get {kind}` "
        f"fetches it{or_package}; --data DIR or {DATA_VARIABLE} say where else it lies."
    )


def fetch(kind: str, files: Mapping[str, tuple[str, str]]) -> Path:
    """Download files, {name: (address, MD5)}, into the cache, except those there already; their folder.

    Raises ``BenchError`` where one cannot be had, or is another than it should be.
    """
    try:
        import pooch
    except ImportError:
        raise UsageError("data get: fetching needs pooch: `python -m pip install 'bfc-bench[data]'`.") from None
    folder = cache_folder() / "data" / kind
    pooch.get_logger().setLevel("WARNING")
    for name, (address, md5) in files.items():
        try:
            pooch.retrieve(address, known_hash=f"md5:{md5}", fname=name, path=folder)
        except Exception as error:
            said = " ".join(message(error).split())
            raise BenchError(f"{kind}: {name} could not be fetched from {address}: {said}") from None
    return folder
