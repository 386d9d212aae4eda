"""The runs behind claims.md: bundles of them in ``runs/``, and a site of their reports beside the pages.

python docs/runs.py pack NAME STORE...    puts what stores of one seed hold into runs/NAME.zip
python docs/runs.py reference             puts suites of runs/seed-0.zip into suites/reference, which is installed
python docs/runs.py site FOLDER           writes the site of them
"""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from bfc_bench import open_store

RUNS = Path(__file__).with_name("runs")
SUITES = RUNS.parents[1] / "suites"
REFERENCE = ("bfc", "bfc-classification", "bfc-depth", "bfc-toys", "images", "strongest", "tabular")
SUFFIX = ".zip"
BENCH = (sys.executable, "-m", "bfc_bench")
ABOUT = ("--author", "The bfc-bench developers", "--license", "Apache-2.0")


def pack(name: str, stores: Sequence[Path]) -> Path:
    """Put all that stores hold into one bundle of this folder, without tracebacks and folders of their machines."""
    packed = RUNS / f"{name}{SUFFIX}"
    with TemporaryDirectory() as folder:
        merged = Path(folder, "merged")
        subprocess.run([*BENCH, "merge", *map(str, stores), "--into", str(merged)], check=True)
        _bundle(merged, packed, f"Results of the suites of bfc-bench, {name}")
    return packed


def reference() -> None:
    """Put the results of some suites on seed 0 where ``reference_results`` finds them."""
    for suite in REFERENCE:
        packed = SUITES / "reference" / f"{suite}{SUFFIX}"
        _bundle(RUNS / f"seed-0{SUFFIX}", packed, f"Results of the suite {suite} of bfc-bench, seed 0", suite)


def _bundle(store: Path, to: Path, title: str, *suites: str) -> None:
    command = [*BENCH, "bundle", *suites, "--store", str(store), "--output", str(to), "--title", title, *ABOUT]
    subprocess.run(command, check=True)


def bundles() -> list[Path]:
    """The bundles, by name; ``open_store`` reads each."""
    return sorted(RUNS.glob(f"*{SUFFIX}"))


def site(folder: Path) -> None:
    """Write the site of all runs, judged by today's claims of their suites; reports that show the same stay."""
    options = [part for path in bundles() for part in ("--store", str(path))]
    with ExitStack() as opened:
        names = [name for path in bundles() for name in opened.enter_context(open_store(path))]
    suites = sorted({name.partition("@")[0] for name in names})
    subprocess.run([*BENCH, "site", str(folder), *suites, *options], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["pack", name, *stores] if stores:
            print(pack(name, list(map(Path, stores))))
        case ["reference"]:
            reference()
        case ["site", folder]:
            site(Path(folder))
        case _:
            sys.exit(__doc__)
