"""``python -m benchmarks.fuzz_stores``: every reader of a store gets stores that another person has changed.

A reader may refuse a store with a ``BenchError``. It must not end with another exception, hang, write outside of its
output, publish a file from outside of the store or a script, or send control characters to the terminal.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import os
import re
import resource
import shutil
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from markupsafe import escape
from rich.console import Console
from rich.table import Table

from benchmarks.store_mutations import SECRET, mutate
from bfc_bench import RunOptions, open_store, run_suite
from bfc_bench.analysis.alpha_spending import LookSchedule
from bfc_bench.analysis.interim_analyses import Look
from bfc_bench.cli.app import run
from bfc_bench.errors import BenchError
from bfc_bench.plugins import load_plugins
from bfc_bench.report.site import PAGES
from bfc_bench.report.template import policy_of
from bfc_bench.report.vega import library, page_script
from bfc_bench.store.artifacts import digests
from bfc_bench.store.store import Store
from bfc_bench.stored_suite import StoredSuite

PATIENCE = 10
"""How many times as much wall time as CPU time a reader may take."""
FAULTS = ("traceback", "hang", "outside", "script", "leak", "control")
"""What must not happen, in the order of the table."""
DRAWN = 20
"""One in so many stores has its figures drawn; this takes most of the time of a report."""
MEMORY = 2**30
"""Bytes of data that a reader may add; beyond, it ends with a ``MemoryError``, which is a fault."""
FILE = 100_000_000
"""Maximum size in bytes of a file that a reader may write."""
LINE = 120
"""Width of the tables in characters."""
SHOWN = 25
"""Maximum number of kinds of faults that are printed."""
DATA = ' type="application/json"'
"""Attributes of a script element with data."""
ELEMENT = re.compile("<script([^>]*)>(.*?)</script>", re.DOTALL | re.IGNORECASE)
"""A script, or data for one, with its attributes and its content."""


@dataclass(frozen=True)
class Case:
    """A changed store in a folder of its own, and a folder for outputs beside it."""

    folder: Path

    @property
    def store(self) -> Path:
        """Folder of the store."""
        return self.folder / "store"

    @property
    def out(self) -> Path:
        """Folder in which each reader may write to the path with its name."""
        return self.folder / "out"

    def each(self, use: Callable[[StoredSuite], object]) -> None:
        """Use each suite; if one is refused, the others are still used."""
        refused: BenchError | None = None
        with open_store(self.store) as stored:
            for key in stored:
                try:
                    use(stored[key])
                except BenchError as error:
                    refused = error
        if refused is not None:
            raise refused

    def command(self, *arguments: object) -> None:
        """Run a command; one that exits with an error has refused the store."""
        if code := run([str(argument) for argument in arguments]):
            raise BenchError(f"exit code {code}")

    def command_of_each(self, verb: str, *arguments: object) -> None:
        """Run a command on each suite."""
        self.each(lambda suite: self.command(verb, f"{suite.name}@{suite.version}", "--store", self.store, *arguments))

    def results(self, form: str) -> None:
        """Export the rows of each suite."""
        self.command_of_each("results", "--format", form, "--output", self.out / f"results-{form}")


READERS: Mapping[str, Callable[[Case], None]] = {
    "rows": lambda case: case.each(lambda suite: suite.rows()),
    "columns": lambda case: case.each(lambda suite: suite.columns()),
    "claims": lambda case: case.each(lambda suite: suite.claims()),
    "results": lambda case: case.command_of_each("results"),
    "results-json": lambda case: case.results("json"),
    "results-csv": lambda case: case.results("csv"),
    "report": lambda case: case.command_of_each("report", "--output", case.out / "report", "--figures", "svg"),
    "site": lambda case: case.command("site", case.out / "site", "--store", case.store),
    "merge": lambda case: case.command("merge", case.store, "--into", case.out / "merge"),
    "backup": lambda case: case.command("backup", case.store, case.out / "backup"),
}


@dataclass
class Counts:
    """What happened, by reader and by kind of change."""

    runs: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By (reader or kind, ``read``, ``refused`` or a fault)."""
    examples: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Number of a store and count, by description of a fault."""

    def add(self, number: int, kind: str, reader: str, outcomes: Mapping[str, str]) -> None:
        """Count what a reader did with a store; ``outcomes`` has a description by outcome."""
        for outcome, detail in outcomes.items():
            self.runs[reader, outcome] += 1
            self.runs[kind, outcome] += 1
            if outcome in FAULTS:
                text = f"{outcome} in {reader}: {detail}"
                first, count = self.examples.get(text, (number, 0))
                self.examples[text] = first, count + 1

    @property
    def faults(self) -> int:
        """Number of faults."""
        return sum(count for (_, outcome), count in self.runs.items() if outcome in FAULTS) // 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz, print the counts, and return 1 if there was a fault, otherwise 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz_stores", description=__doc__)
    parser.add_argument("--stores", type=int, default=1000, metavar="N", help="number of changed stores")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the changes")
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="limit of a reader's CPU time; ten times as much of its wall time"
    )
    parser.add_argument("--only", type=int, metavar="I", help="only this store, as the list of faults names it")
    options = parser.parse_args(arguments)
    numbers = range(options.stores) if options.only is None else [options.only]
    with TemporaryDirectory() as folder:
        base = Path(folder, "base")
        maker = multiprocessing.get_context("fork").Process(target=make_base, args=(base,))
        maker.start()  # JAX starts threads, which the readers' processes could not be forked with
        maker.join()
        counts = fuzz(base, Path(folder, "cases"), numbers, options.seed, options.seconds)
    show(counts, Console(width=LINE))
    return 1 if counts.faults else 0


def make_base(folder: Path) -> None:
    """A small store of the suite ``smoke``, with artifacts of a cell and a look at a claim."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        learners, changes = ["quad-densenet", "kernel-rbf"], ["replicates=1"]
        run_suite("smoke", RunOptions(store=folder, executor="serial", learners=learners, changes=changes))
    files = {"values.csv": b"1,2\n", "values.json": b"{}", "values.png": b"\x89PNG\r\n\x1a\n"}
    with Store(folder, write=True) as store:
        [row, *_] = store.rows("smoke", 1)
        tasks_and_learners = store.sessions.definitions("smoke", 1)
        digest = tasks_and_learners["task", row.task], tasks_and_learners["learner", row.label]
        store.put([(replace(row, artifacts=digests(files)), *digest, "")], {row.cell: files})
        look = Look(
            "thm1", "0" * 16, "0" * 16, 5, {("teacher-L3", "quad-densenet", 10): (100, 200)}, LookSchedule((5, 7))
        )
        store.looks.put("smoke", 1, [look.as_dict()])


def fuzz(
    base: Path,
    folder: Path,
    numbers: Sequence[int],
    seed: int,
    seconds: float,
    readers: Mapping[str, Callable[[Case], None]] = READERS,
) -> Counts:
    """Let every reader read each changed store.

    Args:
        base: Store to change.
        folder: Folder for the changed stores.
        numbers: Numbers of the stores; with the seed they determine the changes.
        seed: Seed of the changes.
        seconds: Time limit of a reader for a store.
        readers: The readers by name.
    """
    counts = Counts()
    worker = _Worker(readers)
    try:
        for number in numbers:
            case = Case(folder / f"case-{number}")
            case.out.mkdir(parents=True)
            shutil.copytree(base, case.store)
            (case.folder / "secret.csv").write_text(SECRET)
            kind = mutate(case.store, Random(f"{seed}/{number}"))
            before = _files(case)
            for reader in readers:
                outcomes = worker.read(reader, case.folder, number % DRAWN == 0, seconds)
                if changed := sorted(map(str, before ^ _files(case))):
                    outcomes["outside"] = re.sub(r"case-\d+", "case", changed[0].replace(str(folder), ""))[:80]
                    before = _files(case)
                counts.add(number, kind, reader, outcomes | _published(case))
                shutil.rmtree(case.out)
                case.out.mkdir()
            shutil.rmtree(case.folder)
    finally:
        worker.end()
    return counts


class _Worker:
    """A forked process that reads stores; one that hangs or dies is replaced."""

    def __init__(self, readers: Mapping[str, Callable[[Case], None]]) -> None:
        self._readers = readers
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")  # what is imported here need not be imported again
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, self._readers), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which wait for work
            self._process.start()
        other.close()

    def read(self, reader: str, folder: Path, drawn: bool, seconds: float) -> dict[str, str]:
        """Descriptions by outcome."""
        self._pipe.send((reader, folder, drawn))
        begun, cpu = time.monotonic(), self._cpu_seconds()
        try:
            while time.monotonic() - begun < PATIENCE * seconds and self._cpu_seconds() - cpu < seconds:
                if self._pipe.poll(1):
                    outcomes: dict[str, str] = self._pipe.recv()
                    return outcomes
            outcome = {"hang": f"longer than {seconds:g} s of CPU time, or {PATIENCE} times that of wall time"}
        except EOFError:
            outcome = {"traceback": "the process died"}
        self.end()
        self._start()
        return outcome

    def _cpu_seconds(self) -> float:
        """CPU time of the process; a machine that is busy with other work makes no reader slow by it."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _serve(pipe: Connection, readers: Mapping[str, Callable[[Case], None]]) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, used + MEMORY))  # drawing reserves far more addresses
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
    plugins = load_plugins()
    with patch("bfc_bench.stored_suite.opening.load_plugins", lambda: plugins):
        while True:
            reader, folder, drawn = pipe.recv()
            pipe.send(_outcomes(readers[reader], Case(folder), drawn))


def _outcomes(reader: Callable[[Case], None], case: Case, drawn: bool) -> dict[str, str]:
    said = io.StringIO()
    outcomes = {"read": ""}
    with warnings.catch_warnings(), redirect_stdout(said), redirect_stderr(said):
        warnings.simplefilter("ignore")
        try:
            if drawn:
                reader(case)
            else:
                with patch("bfc_bench.report.pictures.picture", _undrawn):
                    reader(case)
        except BenchError:
            outcomes = {"refused": ""}
        except BaseException as error:
            outcomes = {"traceback": f"{type(error).__name__} in {_where(error)}: {str(error)[:60]!r}"}
    text = said.getvalue()
    named = re.search(r"is not on the site: (?!\w+Error: )?((\w+Error): .{0,60})", text)
    if named and named[2] not in ("StoreError", "UsageError"):
        outcomes["named"] = named[1]
    if control := re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text):
        outcomes["control"] = repr(control[0])
    return outcomes


def _undrawn(spec: Mapping[str, Any], suffix: str) -> bytes:
    """A figure that JSON can hold, as an SVG file without contents."""
    json.dumps(spec)
    return b"<svg></svg>"


def _where(error: BaseException) -> str:
    """Function of ours that was running last."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "bfc_bench" in frame.filename]
    return f"{Path(frames[-1].filename).stem}.{frames[-1].name}" if frames else "?"


def _files(case: Case) -> set[tuple[Path, int, int]]:
    """Files that readers must leave alone, with size and time: all but outputs and SQLite's logs."""

    def found() -> Iterator[tuple[Path, int, int]]:
        for path in case.folder.parent.rglob("*"):
            own = path.is_relative_to(case.out) and path.relative_to(case.out).parts[:1]
            if not own or own[0] not in READERS:
                state = path.lstat()
                if path != case.out and not path.is_dir() and not path.name.startswith("results.sqlite-"):
                    yield path, state.st_size, state.st_mtime_ns

    return set(found())


def _published(case: Case) -> dict[str, str]:
    """Scripts and secrets in the files that a reader wrote, but for copies of the store."""
    faults: dict[str, str] = {}
    for path in case.out.rglob("*"):
        if not path.is_file() or path.relative_to(case.out).parts[0] in ("merge", "backup"):
            continue
        content = path.read_bytes()
        if SECRET.encode() in content:
            faults["leak"] = path.name
        if path.suffix in (".html", ".htm", ".svg") and (what := runnable(path.name, content.decode(errors="replace"))):
            faults["script"] = what
    return faults


def runnable(name: str, page: str) -> str:
    """What could run in a page or a figure; empty if nothing but our scripts can.

    Args:
        name: Name of the file.
        page: Its text.
    """
    if name.endswith(".svg") and not re.search("<script|javascript:|<foreignObject", page, flags=re.IGNORECASE):
        return ""  # a figure
    if name not in ("report.html", *PAGES):
        return "a page that is not ours"
    ours = [library(), page_script()] if name == "report.html" else [page_script()]
    policy = f'<meta http-equiv="Content-Security-Policy" content="{escape(policy_of(*ours))}">'
    if policy not in page.partition("<body>")[0]:
        return "a page without our policy"
    rest = ELEMENT.sub(lambda found: "" if _is_ours(found[1], found[2], ours) else found[0], page)
    if "<script" in rest.lower():
        return "a script that is not ours"
    if found := re.search(r"<[^<>]+\s(on\w+\s*=|(?:href|src)\s*=\s*[\"']?\s*javascript:)", rest, flags=re.IGNORECASE):
        return f"an attribute {found[1]}"
    return ""


def _is_ours(attributes: str, content: str, ours: Sequence[str]) -> bool:
    """Whether a script element has one of our scripts, or data, which does not run."""
    return content in ours if not attributes else attributes == DATA and "<" not in content


def show(counts: Counts, console: Console) -> None:
    """Print the counts by reader and by kind of change, and the commonest faults."""
    kinds = sorted({name for name, _ in counts.runs} - READERS.keys())
    for title, names in (("reader", [*READERS]), ("changed", kinds)):
        table = Table(box=None, header_style="bold")
        for heading in (title, "read", "refused", "named", *FAULTS):
            table.add_column(heading, no_wrap=True)
        for name in names:
            table.add_row(name, *(str(counts.runs[name, outcome]) for outcome in ("read", "refused", "named", *FAULTS)))
        console.print(table)
        console.print()
    worst = sorted(counts.examples.items(), key=lambda item: -item[1][1])
    for text, (number, count) in worst[:SHOWN]:
        console.print(f"{count} x {text} (first: --only {number})", markup=False, highlight=False, soft_wrap=True)
    if len(worst) > SHOWN:
        console.print(f"and {len(worst) - SHOWN} other kinds of faults")
    console.print(f"{counts.faults} faults")


if __name__ == "__main__":
    sys.exit(main())
