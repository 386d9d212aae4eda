"""What docs/reliability.md promises; the faults themselves take minutes, other tests provoke them singly."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))  # last, so that the installed bfc_bench stays the one that is tested

from benchmarks.faults.__main__ import BAR, FAMILIES, main  # noqa: E402
from benchmarks.faults.kills import NOTHING, killed_at_random  # noqa: E402
from benchmarks.faults.place import Place  # noqa: E402

PAGE = (ROOT / "docs" / "reliability.md").read_text()


def test_the_page_shows_every_fault_and_that_it_ended_as_it_must():
    lines = re.findall(r"^\| (\w+) \| (.*?) \| (.*?) \| (.*?) \|$", PAGE, flags=re.MULTILINE)
    known = [(name, fault.what, fault.expected) for name, family in FAMILIES.items() for fault in family.faults]
    assert lines == [(name, *(text.replace("|", BAR) for text in texts), "the same") for name, *texts in known]


@pytest.mark.slow
def test_every_fault_ends_as_it_must(capsys):
    assert main([]) == 0, capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("mlflow", [False, True])
def test_two_hundred_kills_lose_double_and_change_nothing(mlflow, tmp_path):
    assert killed_at_random(Place(tmp_path), 50 if mlflow else 150, seed=mlflow, mlflow=mlflow) == NOTHING
