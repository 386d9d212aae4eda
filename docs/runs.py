"""The runs behind claims.md: bundles of them in ``runs/``, and a site of their reports beside the pages.

python docs/runs.py pack NAME STORE...    puts what stores of one seed hold into runs/NAME.zip
python docs/runs.py unpack FOLDER         makes stores of them again: `bfc-bench results bfc --store FOLDER/NAME`
python docs/runs.py site FOLDER           writes the site of them
"""

import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

RUNS = Path(__file__).with_name("runs")
SUFFIX = ".zip"
BENCH = (sys.executable, "-m", "bfc_bench")
ABOUT = ("--author", "The bfc-bench developers", "--license", "Apache-2.0")


def pack(name: str, stores: Sequence[Path]) -> Path:
    """Put all that stores hold into one bundle of this folder, without tracebacks and folders of their machines."""
    packed = RUNS / f"{name}{SUFFIX}"
    with TemporaryDirectory() as folder:
        merged = Path(folder, "merged")
        subprocess.run([*BENCH, "merge", *map(str, stores), "--into", str(merged)], check=True)
        title = f"Results of the suites of bfc-bench, {name}"
        command = [*BENCH, "bundle", "--store", str(merged), "--output", str(packed), "--title", title, *ABOUT]
        subprocess.run(command, check=True)
    return packed


def unpack(folder: Path) -> list[Path]:
    """Make stores in ``folder`` of the bundles; those that are there already stay."""
    stores = []
    for packed in sorted(RUNS.glob(f"*{SUFFIX}")):
        stores.append(store := folder / packed.name.removesuffix(SUFFIX))
        if not (store / "results.sqlite").exists():
            with ZipFile(packed) as bundle:
                bundle.extract("results.sqlite", store)
    return stores


def site(folder: Path) -> None:
    """Write the site of all runs, judged by today's claims of their suites; reports that show the same stay."""
    with TemporaryDirectory() as unpacked:
        stores = unpack(Path(unpacked))
        options = [part for store in stores for part in ("--store", str(store))]
        suites = sorted({name for store in stores for name in suites_of(store)})
        subprocess.run([*BENCH, "site", str(folder), *suites, *options], check=True, stdout=subprocess.DEVNULL)


def suites_of(store: Path) -> list[str]:
    """The names of a store's suites."""
    with closing(sqlite3.connect(store / "results.sqlite")) as base:
        return [name for (name,) in base.execute("SELECT DISTINCT suite FROM sessions")]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["pack", name, *stores] if stores:
            print(pack(name, list(map(Path, stores))))
        case ["unpack", folder]:
            print(*unpack(Path(folder)), sep="\n")
        case ["site", folder]:
            site(Path(folder))
        case _:
            sys.exit(__doc__)
