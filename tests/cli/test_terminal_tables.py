"""Tables of the terminal: no text is cut, whatever the width."""

import io
import re
from importlib.metadata import version

import numpy as np
import pytest
from rich.console import Console
from stored_rows import hold
from synthetic import row

from bfc_bench.cli.summary import print_summary
from bfc_bench.cli.tables import MEASURED, print_table
from bfc_bench.seeds import stream
from bfc_bench.stored_suite import open_store

WIDTHS = (40, 60, 80, 120, 200)
HEADER = ["task", "d", "learner", "n", "error", "worst"]
LINES = [
    ["layerwise-eq-1.2", "20", "kernel-ridge-1", "400", "0.0031 [0.0021, 0.0044]", "0.0049"],
    ["layerwise-eq-1.2-gaussian", "20", "kernel-ridge-2", "400", "3.1e-7 [2.1e-7, 4.4e-7]", "4.9e-7"],
]


def terminal(width):
    return Console(file=io.StringIO(), width=width, force_terminal=True, no_color=True)


def shown(out):
    return re.sub(r"\x1b\[[0-9;]*m", "", out.file.getvalue())


def table(width, lines=LINES, **options):
    out = terminal(width)
    print_table(out, HEADER, lines, **options)
    return shown(out)


def test_a_narrow_terminal_leaves_columns_out_before_it_wraps_texts():
    assert table(120).split("\n")[0].split() == HEADER
    header, *lines = table(82, omit=[("worst",)]).splitlines()
    assert header.split() == HEADER[:-1]
    assert len(lines) == 2
    assert not any("0.0049" in line for line in lines)


def test_sentences_are_wrapped_at_words_beside_the_columns_that_say_what_they_are_about():
    lines = [["claim-1", "add n = 80 " * 12], ["claim-2", "decided"]]
    out = terminal(60)
    print_table(out, ["claim", "what would decide it"], lines, prose=True)
    first, *rest = shown(out).splitlines()[1:]
    assert first.startswith("claim-1  add n = 80")
    assert all(line.startswith(" " * 9) for line in rest[:-1])
    assert max(map(len, [first, *rest])) <= 60


LABELS = ("kernel-ridge:gamma0.1", "kernel-ridge:gamma0.3", "kernel-ridge-with-squares")


@pytest.fixture
def held(suite_file, tmp_path):
    """A store with the results of a suite with long labels and a claim."""
    learners = [{"name": "kernel-ridge", "label": label} for label in LABELS]
    claim = {"kind": "beats", "label": LABELS[2], "against": [*LABELS[:2]], "task": "t", "source": "BFC Theorem 1"}
    path = suite_file("narrow", learner=learners, replicates=4, claim=[{"id": "squares-help-with-rows", **claim}])
    rows = [
        row(
            cell=f"c{k}-{n}-{r}", suite="narrow", task="t", label=label, d=4, n=n, replicate=r,
            nmse=float(np.exp(stream("narrow", label, n, r).standard_normal() / 5)) / n**1.5 * (3 - k),
            fit_cpu_seconds=1e-3, finished_at=1.7e9 + n, release=version("bfc-bench"), device="cpu",
        )
        for k, label in enumerate(LABELS) for n in (10, 20) for r in range(4)
    ]  # fmt: skip
    return path, hold(tmp_path / "store", path, rows)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("verb", ["claims", "results", "compare", "plan", "summary"])
def test_verbs_fit_every_terminal(held, monkeypatch, verb, width, printed):
    path, store = held
    for name, value in (("COLUMNS", str(width)), ("FORCE_COLOR", "1"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
    if verb == "summary":
        with open_store(store) as suites:
            out = terminal(width)
            print_summary(suites[path], out)
        text = shown(out)
    else:
        about = [LABELS[0], LABELS[2]] if verb == "compare" else [str(path)]
        named = ["squares-help-with-rows"] if verb == "claims" else []
        text = re.sub(r"\x1b\[[0-9;]*m", "", printed(verb, *about, *named, "--store", store))
    for label in LABELS if verb != "compare" else (LABELS[0], LABELS[2]):
        assert label in text
    assert "…" not in text
    if verb == "claims":
        assert "squares-help-with-rows" in text
        assert width < 80 or re.search(r"0\.\d+ \[[^ ]+, [^ ]+\]", text)
    assert max(map(len, text.splitlines())) <= width


def test_a_pipe_gets_lines_as_they_come():
    out, taken = Console(file=io.StringIO(), width=80), []

    def lines():
        for k in range(3 * MEASURED):
            taken.append(len(out.file.getvalue()) > 0)
            yield [str(k)]

    print_table(out, ["k"], lines())
    assert taken[-1]
    assert len(out.file.getvalue().splitlines()) == 1 + 3 * MEASURED
