"""Where a suite runs is said by the command, else by the suite; it defines nothing."""

import pytest
from stored_rows import read_results

from bfc_bench import RunOptions, UsageError, load_plugins, run_suite
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.executors.serial import SerialExecutor
from bfc_bench.run.session import executor_of
from bfc_bench.suite.read import read_suite

PLUGINS = load_plugins()
MEAN = [{"name": "mean"}]


def chosen(path, changes=(), name=None, **options):
    return executor_of(read_suite(path, changes), PLUGINS, name, options)


def test_the_command_wins_over_the_suite_and_options_are_those_of_their_executor(suite_file):
    plain = suite_file(name="plain", learner=MEAN)
    says = suite_file(name="says", learner=MEAN, executor={"name": "processes", "jobs_per_gpu": 2, "gpus": [0]})
    assert chosen(plain) == ProcessExecutor()
    assert chosen(plain, ["executor.name=serial"]) == SerialExecutor()
    assert chosen(says) == ProcessExecutor(jobs_per_gpu=2, gpus=[0])
    assert chosen(says, name="processes", jobs_per_gpu=3) == ProcessExecutor(jobs_per_gpu=3, gpus=[0])
    assert chosen(says, name="serial") == SerialExecutor()
    with pytest.raises(UsageError, match=r"executor 'serial': unknown option 'gpus'"):
        chosen(says, name="serial", gpus=[0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--executor-option", "gpu=[0]"], "executor 'processes': unknown option 'gpu'. Did you mean 'gpus'?"),
        (["--executor-option", "jobs_per_gpu=0"], "executor 'processes': jobs_per_gpu must be greater than 0. Got 0."),
        (["--executor-option", "jobs_per_gpu"], "--executor-option jobs_per_gpu: must have the form KEY=VALUE."),
        (["--set", "executor.name=serial", "--set", "executor.gpus=[0]"], "executor 'serial': unknown option 'gpus'."),
        (["--set", "executor.name=procesess"], "unknown executor 'procesess'. Did you mean 'processes'?"),
        (["--executor", "slurm"], "SLURM is not an executor: `bfc-bench submit SUITE --shards K` runs a suite there"),
    ],
)
@pytest.mark.parametrize("verb", ["run", "plan"])
def test_a_wrong_option_is_one_line_with_a_hint(verb, arguments, words, tmp_path, refused):
    (line,) = refused(verb, "smoke", "--store", tmp_path / "store", *arguments).splitlines()
    assert words in line
    assert not (tmp_path / "store").exists()


def test_where_a_suite_runs_is_no_part_of_its_cells(faulty, suite_file, tmp_path):
    ids = set()
    for name in ("processes", "serial"):
        path = suite_file(learner=MEAN, executor={"name": name})
        session = run_suite(path, RunOptions(store=tmp_path / name, jobs=1))
        assert (session.provenance["executor"], session.provenance["executor_options"]) == (name, {})
        assert "executor" not in read_suite(path).definition()
        ids.add(frozenset(row.cell for row in read_results(path, store=tmp_path / name)))
    assert len(ids) == 1
