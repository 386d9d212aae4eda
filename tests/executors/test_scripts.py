"""Scripts that run a suite, with ``if __name__ == "__main__":`` or without."""

import sys

import pytest
from waiting import completed

RUN = """
    from __future__ import annotations
    from typing import Annotated, ClassVar
    import numpy as np
    import bfc_bench
    from pydantic import Field

    class Constant(bfc_bench.Predictor):
        def __init__(self, value):
            self.value = value

        def predict(self, x):
            return np.full(len(x), self.value)

    class Own(bfc_bench.Learner):
        name: ClassVar[str] = "own"
        shrink: Annotated[float, Field(gt=0)] = 1.0

        def fit(self, train, ctx):
            assert type(self).parse({{"shrink": 2.0}}, "").shrink == 2
            return Constant(train.y.mean() / self.shrink)

    class Plugin:
        @bfc_bench.hookimpl
        def bfc_register(self, register):
            register.learner(Own)

    def go():
        plugins = bfc_bench.load_plugins([Plugin()])
        bfc_bench.run_suite({suite!r}, bfc_bench.RunOptions(store={store!r}, jobs=1, plugins=plugins))
        with bfc_bench.open_store({store!r}, plugins=plugins) as store:
            print([row.status for row in store["tiny"].rows()])
    print("begins")
"""
GUARD = "if __name__ == '__main__':\n        go()"


@pytest.mark.parametrize(("call", "start"), [("go()", "fork"), ("go()", "spawn"), (GUARD, "fork")])
def test_a_script_runs_a_suite_with_a_learner_of_its_own_once(call, start, suite_file, tmp_path):
    """No worker imports the script."""
    learner = {"name": "own", "tune": {"shrink": [1.0, 2.0]}}
    path = suite_file(learner=[learner], executor={"name": "processes", "start": start})
    text = RUN.format(suite=str(path), store=str(tmp_path / "store")) + f"    {call}\n"
    script = tmp_path / "script.py"
    script.write_text("\n".join(line.removeprefix("    ") for line in text.splitlines()))
    done = completed([sys.executable, script], timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["begins", "['ok', 'ok']"]
