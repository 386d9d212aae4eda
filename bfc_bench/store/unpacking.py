"""Unpacks the store of a bundle, so that all that reads a store reads the one file that others publish."""

import zipfile
from hashlib import file_digest
from pathlib import Path

from bfc_bench.errors import BenchError, OutputError, StoreError
from bfc_bench.store.new_folder import new_folder
from bfc_bench.utils.files import cache_folder

STORE = "results.sqlite"
STORE_BYTES = 4_000_000_000
"""Maximum size of a store that is unpacked."""


def store_folder(path: Path) -> Path:
    """The folder of a store; of a bundle, one in the cache, into which its store is unpacked once.

    Raises ``StoreError`` for a zip file that is not there, is no bundle, or is damaged.
    """
    if path.suffix == ".zip" and not path.exists():
        raise StoreError(f"There is no bundle {path}.")
    if not zipfile.is_zipfile(path):
        return path
    with path.open("rb") as file:
        folder = cache_folder() / "bundles" / file_digest(file, "sha256").hexdigest()[:32]
    if (folder / STORE).exists():
        return folder
    try:
        with new_folder(folder) as temporary, zipfile.ZipFile(path) as bundle:
            if bundle.getinfo(STORE).file_size > STORE_BYTES:
                raise ValueError(f"its {STORE} has more than {STORE_BYTES:,} bytes")
            bundle.extract(STORE, temporary)
    except BenchError as error:
        if not (folder / STORE).exists():  # another process may have unpacked it meanwhile
            raise OutputError(f"{error} XDG_CACHE_HOME names another folder for the cache.") from None
    except Exception as error:  # zipfile raises more than ten kinds
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise StoreError(f"{path} is not a bundle that bfc-bench reads: {reason}.") from None
    return folder
