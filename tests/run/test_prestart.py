"""The first worker of a first run starts before it is known what there is to do, and is used, or ended."""

import multiprocessing
import os
from typing import ClassVar

import pytest

from bfc_bench import run_suite
from bfc_bench.errors import PluginError, UsageError
from bfc_bench.executors.base import Pool
from bfc_bench.executors.processes import ProcessExecutor, pool
from bfc_bench.executors.serial import SerialExecutor
from bfc_bench.plugins import load_plugins
from bfc_bench.run.prestart import begun
from bfc_bench.suite.model import read_suite


@pytest.fixture
def started(monkeypatch):
    """The workers that are started, in their order."""
    workers = []

    class Noted(pool.WorkerHandle):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            workers.append(self.process.pid)

    monkeypatch.setattr(pool, "WorkerHandle", Noted)
    return workers


def test_it_does_the_cells_and_has_what_the_learner_imports(faulty, suite_file, tmp_path, started):
    path = suite_file(learner=[{"name": "on-tensors"}])
    session = run_suite(path, store=tmp_path / "store", jobs=1)
    assert dict(session.statuses) == {"ok": 2}
    assert len(started) == 1


@pytest.mark.parametrize(("learners", "message"), [(["nobody"], "no such learner"), ([], "unknown option")])
def test_it_ends_with_a_run_that_cannot_be_planned(faulty, suite_file, tmp_path, started, learners, message):
    path = suite_file(learner=[{"name": "mean", "options": {} if learners else {"mean_2": 1}}])
    before = dict(os.environ)
    with pytest.raises(UsageError, match=message):
        run_suite(path, store=tmp_path / "store", learners=learners)
    assert len(started) == 1
    assert multiprocessing.active_children() == []
    assert dict(os.environ) == before


def test_it_ends_where_nothing_is_to_do(faulty, suite_file, tmp_path, started):
    path = suite_file(learner=[{"name": "sklearn:linear_model.LogisticRegression"}])
    assert dict(run_suite(path, store=tmp_path / "store").statuses) == {"skipped": 2}
    assert len(started) == 1
    assert multiprocessing.active_children() == []


class Around(ProcessExecutor):
    """Puts something around its pools."""

    name: ClassVar[str] = "around"
    opened: ClassVar[list[Pool]] = []

    def open(self, call, prepare=None, jobs=None):
        self.opened.append(Passing(super().open(call, prepare, jobs)))
        return self.opened[-1]


class Passing:
    """What is put around: it passes everything on."""

    def __init__(self, pool):
        self.pool = pool

    def __getattr__(self, name):
        return getattr(self.pool, name)


def test_a_subclass_keeps_what_it_puts_around_its_pools(faulty, suite_file, tmp_path):
    plugins = load_plugins()
    plugins.executors.register(Around.name, Around, "test")
    path = suite_file(learner=[{"name": "mean"}])
    session = run_suite(path, store=tmp_path / "store", executor="around", plugins=plugins, jobs=1)
    assert dict(session.statuses) == {"ok": 2}
    assert len(Around.opened) == 1


class Raising(ProcessExecutor):
    """Cannot begin."""

    name: ClassVar[str] = "raising"

    def begin(self, call, prepare=None, jobs=None):
        raise KeyError("begin")


def test_an_executor_that_raises_when_it_begins_is_named(faulty, suite_file, tmp_path):
    plugins = load_plugins()
    plugins.executors.register(Raising.name, Raising, "mine")
    path = suite_file(learner=[{"name": "mean"}])
    with pytest.raises(PluginError, match="executor 'raising' of plugin 'mine': begin raised KeyError"):
        run_suite(path, store=tmp_path / "store", executor="raising", plugins=plugins)


def test_there_is_none_for_a_store_that_is_there_another_place_or_a_gpu(faulty, suite_file, tmp_path, started):
    path = suite_file(learner=[{"name": "mean"}])
    plugins, suite = load_plugins(), read_suite(path)
    run_suite(path, store=tmp_path / "there", executor="serial")
    for executor, store, device in (
        (ProcessExecutor(), "there", "cpu"),
        (SerialExecutor(), "new", "cpu"),
        (ProcessExecutor(), "new", "cuda"),
    ):
        with begun(executor, plugins, suite, tmp_path / store, device=device) as pool:
            assert pool is None
    assert started == []
