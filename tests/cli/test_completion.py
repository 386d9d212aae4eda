"""The shell is told verbs, suites and learners that begin as what was typed."""

import sys

import pytest

from bfc_bench.cli.app import run


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("bfc-bench re", {"results", "report"}),
        ("bfc-bench run rep", {"representations", "representations-smoke"}),
        ("bfc-bench run smoke --learner kernel", {"kernel-ridge"}),
        ("bfc-bench run smoke --exec", {"--executor"}),
    ],
)
def test_bash_is_told_what_may_come(typed, expected, monkeypatch, capsys):
    asked = {"_BFC_BENCH_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["bfc-bench"])
    with pytest.raises(SystemExit):
        run()
    assert expected <= set(capsys.readouterr().out.split())
