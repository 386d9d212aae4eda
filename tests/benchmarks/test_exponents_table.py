"""``python -m benchmarks.exponents``: the tables of N* by dimension in the documentation."""

import pytest
from stored_rows import hold
from synthetic import row

from benchmarks import exponents

PARTS = {"inputs": {"kind": "sphere"}, "target": {"kind": "lowrank-poly", "degree": 2}}
TASKS = [
    {"name": "several", **PARTS, "d": [4, 8, 16], "n": [8, 16, 32, 64, 128, 256, 512]},
    {"name": "one", **PARTS, "d": [4], "n": [8, 16]},
]
LEARNER = {"name": "ntk-raw", "options": {"ridge": 1e-6}}


def test_a_line_per_learner_with_n_star_its_exponent_and_the_theorys(suite_file, tmp_path, capsys):
    """Rows whose error is a constant of the replicate times (d^2 / n)^2, so that N* is proportional to d^2."""
    path = suite_file(replicates=4, levels=[0.5], task=TASKS, learner=[LEARNER])
    rows = [
        row(
            suite="tiny", task=task["name"], label="ntk-raw", d=d, n=n, replicate=r,
            nmse=0.5 * (1.05 + 0.3 * r) * (d * d / n) ** 2,
        )
        for task in TASKS for d in task["d"] for n in task["n"] for r in range(4)
    ]  # fmt: skip
    assert exponents.main(["tiny", "--store", str(hold(tmp_path, path, rows))]) == 0
    title, _, head, _, line = capsys.readouterr().out.strip().split("\n")
    assert title == "**several**"
    assert head == "| learner | N*, d = 4 | N*, d = 8 | N*, d = 16 | exponent | theory's N* | theory's exponent |"
    label, *sizes, exponent, theory, law = (cell.strip() for cell in line.strip("|").split("|"))
    assert label == "ntk-raw"
    near = [float(size.split()[0]) for size in sizes]
    assert near == pytest.approx([4**2 * 1.2, 8**2 * 1.2, 16**2 * 1.2], rel=0.2)
    value, interval = exponent.split(" ", 1)
    assert float(value) == pytest.approx(2, abs=0.1)
    assert interval.startswith("[")
    assert len(theory.split(", ")) == 3
    assert float(law) > 0
