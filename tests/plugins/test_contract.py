"""Every learner that comes with the framework keeps the contract."""

import pytest

from bfc_bench.plugins.manager import load_plugins
from bfc_bench.testing import check_learner

LEARNERS = load_plugins().learners
BATCHES = {"kernel-ridge", "random-features", "quad-densenet", "poly-net", "relu-mlp", "conv-kernel", "ntk-raw",
           "ntk-neural"}  # fmt: skip


@pytest.mark.parametrize("name", LEARNERS)
def test_keeps_the_contract(name, usable):
    usable(LEARNERS.get(name))
    report = check_learner(LEARNERS.get(name))
    tested = {check.name for check in report.checks if check.outcome == "passed"}
    assert "fit returns a predictor" in tested
    assert name not in BATCHES or "fit batch agrees with fit" in tested
