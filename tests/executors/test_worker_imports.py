"""What a worker of a library has imported once, later workers have from the process that forks them."""

import sys
from functools import partial
from pkgutil import resolve_name
from typing import Any

import pytest

from bfc_bench.cli.new import write_distribution
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.executors.processes.fork_server import CAN_FORK
from bfc_bench.learner import Learner
from bfc_bench.run.work_units import import_libraries
from bfc_bench.testing.learner_trial import LearnerTrial

forks = pytest.mark.skipif(not CAN_FORK, reason="workers are forked on Linux only")
LEARNERS = (
    "bfc_bench_mine_torch.mine_torch:MineTorch",  # the template of `new learner --arrays torch`
    "bfc_bench_mine_jax.mine_jax:MineJax",
    "bfc_plugins.convolutional.joint:ConvJoint",
    "bfc_plugins.hierarchies.patch_clustering:PatchClustering",
    "bfc_plugins.kernels.kernel_ridge:KernelRidge",
    "bfc_plugins.networks.relu_mlp:ReluMlp",
    "bfc_plugins.networks.residual_mlp:ResidualMlp",
    "bfc_plugins.quadratic_taylor.quad_raw:QuadRaw",
    "bfc_plugins.sklearn_estimator:SklearnEstimator",
)
"""A learner of each library, and those that import parts of one when they fit."""


def learner(place):
    cls: type[Learner] = resolve_name(place)
    return cls if cls.example is None else cls.variant(cls.example)


def preload(place):
    import_libraries(learner(place).capabilities.required)


def fit(place):
    """The modules of libraries that a fit imports."""
    before = set(sys.modules)
    cls = learner(place)
    trial = LearnerTrial(cls, cls.smoke)
    job = trial.job()
    job.learner.fit(job.train, job.ctx).predict(trial.test_points())
    packages = ("jax", "jaxlib", "pandas", "scipy", "sklearn", "torch")
    return " ".join(name for name in sys.modules if name.partition(".")[0] in packages and name not in before).encode()


@forks
def test_after_a_first_fit_no_worker_imports_parts_of_libraries(tmp_path, monkeypatch):
    for arrays in ("torch", "jax"):
        write_distribution("learner", f"mine-{arrays}", tmp_path / arrays, arrays)
        monkeypatch.syspath_prepend(tmp_path / arrays / "src")
    pool = ProcessExecutor().open(fit, {place: partial(preload, place) for place in LEARNERS}, jobs=1)
    for key, place in enumerate(LEARNERS * 2):
        pool.submit(key, place, 300.0, group=place)
    imported: dict[int, Any] = dict(pool.outcomes())
    pool.close()
    first, again = ([imported[key + start] for key in range(len(LEARNERS))] for start in (0, len(LEARNERS)))
    assert b"torch._dynamo" in first[0].split()  # else this test shows nothing
    assert again == [b""] * len(LEARNERS)
