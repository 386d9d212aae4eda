"""The runs behind claims.md: their stores, packed in ``runs/``, and a site of their reports beside the pages.

python docs/runs.py pack NAME STORE...    puts what stores of one seed hold into runs/NAME.sqlite.xz
python docs/runs.py unpack FOLDER         makes stores of them again: `bfc-bench results bfc --store FOLDER/NAME`
python docs/runs.py site FOLDER           writes the site of them
"""

import json
import lzma
import re
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

RUNS = Path(__file__).with_name("runs")
SUFFIX = ".sqlite.xz"
BENCH = (sys.executable, "-m", "bfc_bench")


def pack(name: str, stores: Sequence[Path]) -> Path:
    """Put all that stores hold into one file of this folder; folders of the machine it was made on are left out."""
    with TemporaryDirectory() as folder:
        merged = Path(folder, "merged")
        subprocess.run([*BENCH, "merge", *map(str, stores), "--into", str(merged)], check=True)
        with closing(sqlite3.connect(merged / "results.sqlite", isolation_level=None)) as base:
            for id, text in base.execute("SELECT id, provenance FROM sessions").fetchall():
                facts = json.loads(text)
                command = re.sub(r"^__main__\.py", "bfc-bench", facts.get("command", ""))  # of earlier commits
                facts["command"] = re.sub(r"(?<=--store[ =])\S*/", "", command)
                base.execute("UPDATE sessions SET provenance = ? WHERE id = ?", (json.dumps(facts), id))
            base.execute("PRAGMA journal_mode = DELETE")
            base.execute("VACUUM")
        packed = RUNS / f"{name}{SUFFIX}"
        packed.write_bytes(lzma.compress((merged / "results.sqlite").read_bytes(), preset=9 | lzma.PRESET_EXTREME))
    return packed


def unpack(folder: Path) -> list[Path]:
    """Make stores in ``folder`` of the packed ones; those that are there already stay."""
    stores = []
    for packed in sorted(RUNS.glob(f"*{SUFFIX}")):
        stores.append(store := folder / packed.name.removesuffix(SUFFIX))
        if not (store / "results.sqlite").exists():
            store.mkdir(parents=True, exist_ok=True)
            (store / "results.sqlite").write_bytes(lzma.decompress(packed.read_bytes()))
    return stores


def site(folder: Path) -> None:
    """Write the site of all packed runs, judged by today's claims of their suites; reports that show the same stay."""
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
