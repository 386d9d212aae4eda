"""What an innocent learner gets after one that leaves something in its process, in one process and in another.

``python -m benchmarks.shared_state [--markdown]``: the NMSE of a small network alone, in the process that the other
learner has used (``--executor serial``), and with a process for each learner (``--executor processes``).
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from benchmarks import machine
from benchmarks.faults.place import Place

LEFT: Mapping[str, str] = MappingProxyType(
    {
        "torch.nn.Linear.reset_parameters that does nothing": "initialisation",
        "another torch.nn.init.kaiming_uniform_": "another initialisation",
        "a hook on all modules of torch": "hook",
        "an Adam that takes no step": "optimizer",
        "a no_grad that is left entered": "mode",
        "another scipy.optimize.minimize": "minimizer",
        "another direction of rounding": "rounding",
        "a json.dumps that raises": "json",
        "a dump of tracebacks that ends the process": "dump",
        "children that are ignored (SIGCHLD)": "children",
        "a POSIX timer": "timer",
        "an audit hook that lets no file be opened": "audit hook",
    }
)
"""What a learner leaves, by what it does, with the option ``what`` of the learner ``lingering``."""
INNOCENT = ("innocent", "innocent", {})


def beside(place: Place, what: str, executor: str) -> str:
    """NMSE or status of each cell of the innocent learner, in a run where another learner is fitted first.

    Args:
        place: A folder with the learners.
        what: What the other learner leaves; empty for none.
        executor: The executor, with one worker.
    """
    others = [("lingering", "lingering", {"what": what})] if what else []
    suite, store = place.suite([*others, INNOCENT], seconds=30), place.new("store")
    ended = place.bench("run", suite, "--store", store, "--no-mlflow", "--executor", executor, "--jobs", 1)
    rows = [row for row in place.rows(store) if row.label == "innocent"] if store.exists() else []
    cells = [f"{row.nmse:.6g}" if row.status == "ok" and row.nmse is not None else row.status for row in rows]
    return ", ".join(cells) or f"none: the run ended with {ended.returncode}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shared_state", description=__doc__)
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    markdown = parser.parse_args(arguments).markdown
    rows = [("another learner leaves", "one process", "a process for each learner")]
    with TemporaryDirectory() as folder:
        place = Place(Path(folder))
        for name, what in {"nothing": "", **LEFT}.items():
            rows.append((name, beside(place, what, "serial"), beside(place, what, "processes")))
    for number, row in enumerate(rows):
        print("| " + " | ".join(row) + " |" if markdown else f"{row[0]:52} {row[1]:28} {row[2]}")
        if markdown and not number:
            print("| --- | --- | --- |")
    facts = machine.describe()
    print(
        f"\n{facts['processor']}, {facts['cores']} cores; Python {facts['python']}; torch {facts['packages']['torch']}."
    )


if __name__ == "__main__":
    main()
