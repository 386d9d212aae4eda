"""Finds files of public data sets: in the user's folder, in the system's packages or in the cache.

A run never downloads. ``fetch``, used by the verb ``data get``, downloads and checks the MD5 sum.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from bfc_bench.errors import BenchError, OutputError, UsageError, error_text
from bfc_bench.tasks import DATA_VARIABLE
from bfc_bench.utils.files import cache_folder


def folders(kind: str) -> list[Path]:
    """The folders in which files of a kind are searched, in order."""
    own = os.environ.get(DATA_VARIABLE)
    shared = (os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(os.pathsep)
    searched = [*((Path(own) / kind, Path(own)) if own else ())]
    searched += [Path(part) / "datasets" / kind for part in shared if part]
    with suppress(OutputError):
        searched.append(cache_folder() / "data" / kind)
    return searched


def find(kind: str, names: Sequence[str], package: str = "") -> Path:
    """The first of several files or folders that exists. Raises ``UsageError`` that says what to type."""
    searched = folders(kind)
    for folder in searched:
        for name in names:
            if (folder / name).exists():
                return folder / name
    or_package = f", or `apt-get install {package}` on Debian" if package else ""
    raise UsageError(
        f"{kind}: there is no {' or '.join(names)} in {', '.join(map(str, searched))}. `bfc-bench data get {kind}` "
        f"fetches it{or_package}; --data DIR or {DATA_VARIABLE} name another folder."
    )


def fetch(kind: str, files: Mapping[str, tuple[str, str]]) -> Path:
    """Download files, {name: (address, MD5)}, into the cache unless they are there; returns their folder.

    Raises ``BenchError`` if a file cannot be downloaded or has another MD5.
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
            text = " ".join(error_text(error).split())
            raise BenchError(f"{kind}: {name} could not be fetched from {address}: {text}") from None
    return folder
