"""The shell is told verbs, suites and learners that begin as what was typed."""

import os
import subprocess
import sys

import pytest

PROGRAM = "import sys; from bfc_bench.cli import main; sys.argv[0] = 'bfc-bench'; main()"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("bfc-bench re", {"results", "report"}),
        ("bfc-bench run rep", {"representations", "representations-smoke"}),
        ("bfc-bench run smoke --learner kernel", {"kernel-ridge"}),
        ("bfc-bench run smoke --exec", {"--executor"}),
    ],
)
def test_bash_is_told_what_may_come(typed: str, expected: set[str]) -> None:
    asked = {"_BFC_BENCH_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert expected <= set(done.stdout.split()), done.stderr
