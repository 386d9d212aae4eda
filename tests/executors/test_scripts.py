"""Scripts that run a suite: with ``if __name__ == "__main__":`` and without, a suite runs once."""

import subprocess
import sys

import pytest

RUN = """
    import bfc_bench
    def go():
        bfc_bench.run_suite({suite!r}, bfc_bench.RunOptions(store={store!r}, jobs=1))
        with bfc_bench.open_store({store!r}) as store:
            print(len(store["tiny"].rows()), "rows")
    print("begins")
"""
CALLS = {
    "from the top": "go()",
    "under a guard": "if __name__ == '__main__':\n        go()",
    "in the else of a guard": "if __name__ != '__main__':\n        pass\n    else:\n        go()",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_script_runs_a_suite_once_with_a_guard_or_without(call, faulty, suite_file, tmp_path):
    path = suite_file(learner=[{"name": "mean"}])
    text = RUN.format(suite=str(path), store=str(tmp_path / "store")) + f"    {call}\n"
    script = tmp_path / "script.py"
    script.write_text("\n".join(line.removeprefix("    ") for line in text.splitlines()))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "2 rows"
    assert done.stdout.count("rows") == 1
    if call == "go()":  # no worker imports it; one with a guard is imported, as Python has it
        assert done.stdout.count("begins") == 1
