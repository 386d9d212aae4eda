"""Units on a Ray cluster of several nodes on this machine: some are killed, join late, or are not as they should be."""

import os
import re
import secrets
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

import psutil
import pytest
from executor_contract import ExecutorContract
from installed_faulty import install_faulty
from ray_deeds import deed, kills_its_actor, meets, secrets_seen, where
from stored_rows import read_results
from units_of_work import give
from waiting import alive, wait_until

from bfc_bench import BenchError, RunOptions, UsageError, hookimpl, run_suite
from bfc_bench.executors.base import UnitFailure
from bfc_bench.extras.ray import pool as ray_pool
from bfc_bench.extras.ray.cluster import import_ray
from bfc_bench.extras.ray.executor import RayExecutor

needs_ray = pytest.mark.ray


def test_memory_of_gpus_elsewhere_is_not_known_beforehand():
    assert RayExecutor().gpu_bytes() == 0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A head without cores and a node called ``a`` with two; who connects needs a token."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    token = tmp_path_factory.mktemp("token") / "token"
    token.write_text(secrets.token_hex(32))
    variables = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    with pytest.MonkeyPatch.context() as patch:
        install_faulty(tmp_path_factory.mktemp("faulty") / "site", patch)
        here = Path(__file__)
        paths = [str(here.parent), str(here.parents[2]), os.environ["PYTHONPATH"]]
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        for name, value in variables.items():
            patch.setenv(name, value)
        ray._raylet.Config.initialize("")
        ray._raylet.AuthenticationTokenLoader.instance().reset_cache()
        started = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        try:
            add(started, "a", num_cpus=2)
            yield started
        finally:
            started.shutdown()


def add(cluster, name, **has):
    variables = {**has.pop("env_vars", {}), "BFC_NODE": name}
    return cluster.add_node(env_vars=variables, object_store_memory=80 * 2**20, **has)


@contextmanager
def node(cluster, name, **has):
    """One more node for a while."""
    added = add(cluster, name, **has)
    try:
        yield added
    finally:
        with suppress(Exception):
            cluster.remove_node(added, allow_graceful=False)
        wait_until(lambda: sum(n["Alive"] for n in states(cluster)) == 2)


def states(cluster):
    return list(cluster.global_state.node_table())


@contextmanager
def opened(cluster, call=deed, jobs=None, **options):
    pool = RayExecutor(address=cluster.address, **options).open(call, jobs=jobs)
    try:
        yield pool
    finally:
        pool.close(now=True)


def outcomes(pool, *payloads, seconds=60.0, **needs):
    for key, payload in enumerate(payloads):
        pool.submit(key, payload, seconds, **needs)
    found = dict(pool.outcomes())
    return [found[key] for key in range(len(payloads))]


@needs_ray
class TestRay(ExecutorContract):
    @pytest.fixture
    def executor(self, cluster):
        return RayExecutor(address=cluster.address)


SLOW = [{"name": "slow", "options": {"seconds": 0.3}}, {"name": "kernel-ridge", "tune": {}}]


@needs_ray
def test_a_node_that_is_killed_costs_no_cell_and_changes_no_number(cluster, suite_file, tmp_path, caplog):
    from benchmarks.same import main as same

    path = suite_file(learner=SLOW[:1], replicates=20)  # cells of a curve of kernels would round differently alone
    run_suite(path, RunOptions(store=tmp_path / "here", executor="processes", jobs=1, device="cpu"))
    with node(cluster, "b", num_cpus=2) as doomed:
        raylet = psutil.Process(doomed.all_processes["raylet"][0].process.pid)

        class Kills:
            rows = 0

            @hookimpl
            def bfc_result(self, result):
                self.rows += 1
                if self.rows == 6:
                    for process in [raylet, *raylet.children(recursive=True)]:
                        process.kill()

        listener, options = Kills(), {"address": cluster.address}
        session = run_suite(
            path,
            RunOptions(
                store=tmp_path / "there", executor="ray", executor_options=options, device="cpu", listeners=[listener]
            ),
        )
    assert session.statuses == {"ok": 40}
    assert listener.rows == 40
    (lost,) = [line for line in lines(caplog) if "lost" in line]
    assert re.match(r"Ray: node .* is lost, which ran [12] units: ", lost)
    assert session.provenance["jobs"] == 4
    assert len({row.cell for row in read_results(path, store=tmp_path / "there")}) == 40
    assert same(str(tmp_path / "here"), str(tmp_path / "there")) == 0


@needs_ray
def test_a_node_that_joins_is_used(cluster):
    with opened(cluster) as pool:
        seen = Counter()
        keys = iter(range(3000))
        pool.submit(next(keys), (where, 0.1), 60.0)
        added = None
        for _, outcome in pool.outcomes():
            assert isinstance(outcome, bytes)
            seen[outcome.decode().split()[0]] += 1
            more = 0 if "late" in seen else 1
            if not added:
                assert set(seen) == {"a"}
                added = add(cluster, "late", num_cpus=1)
                more = 8  # than the slots of both nodes have room for
            for key in islice(keys, more):
                pool.submit(key, (where, 0.1), 60.0)
        cluster.remove_node(added, allow_graceful=False)
    assert set(seen) == {"a", "late"}
    wait_until(lambda: sum(n["Alive"] for n in states(cluster)) == 2)


@needs_ray
def test_as_many_units_as_there_are_slots_run_at_once(cluster, tmp_path):
    with node(cluster, "b", num_cpus=4), opened(cluster) as pool:
        assert outcomes(pool, *[(meets, (str(tmp_path), 6))] * 6) == [b"met"] * 6


@pytest.fixture
def other_site(tmp_path):
    """The environment of a node that has another torch."""
    info = tmp_path / "site" / "torch-0.0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 0.0.1\n")
    return {
        "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    }


OLD = r"Ray: node .* is left out: it has torch 0\.0\.1 \(here .*\)\. Install the same version there"


def lines(caplog):
    return [record.getMessage() for record in caplog.records if record.name.startswith("bfc_bench")]


@needs_ray
def test_a_node_with_other_versions_is_left_out_in_one_line(cluster, other_site, caplog):
    with node(cluster, "old", num_cpus=2, env_vars=other_site), opened(cluster) as pool:
        assert pool.slots("cpu") == 2
        seen = outcomes(pool, *[(where, 0.3)] * 6)
    assert {outcome.decode().split()[0] for outcome in seen} == {"a"}
    (line,) = lines(caplog)
    assert re.match(OLD, line)


@needs_ray
def test_if_all_nodes_have_other_versions_the_run_ends_with_an_error(cluster, monkeypatch, caplog):
    monkeypatch.setattr("bfc_bench.extras.ray.node.PACKAGES", ("bfc-bench", "not-on-any-node"))
    monkeypatch.setattr("importlib.metadata.version", lambda name: "1.0")
    with pytest.raises(UsageError, match="no node can be used"):
        RayExecutor(address=cluster.address).open(deed)
    assert "not-on-any-node missing (here 1.0)" in lines(caplog)[-1]


@needs_ray
def test_the_unit_of_a_lost_actor_is_lost_and_others_run(cluster, caplog):
    with opened(cluster, jobs=1) as pool:
        outcome, other = outcomes(pool, (kills_its_actor, None), (give, b"other"))
    assert other == b"other"
    assert isinstance(outcome, UnitFailure)
    assert (outcome.kind, "was lost: " in outcome.reason) == ("lost", True)
    (line,) = lines(caplog)
    assert re.match(r"Ray: node .* is lost, which ran 1 units: ", line)


@needs_ray
def test_units_that_no_node_can_run_end_the_run_with_an_error(cluster, monkeypatch):
    monkeypatch.setattr(ray_pool, "NO_NODE_SECONDS", 2.0)
    with opened(cluster) as pool, pytest.raises(BenchError, match="units wait for a GPU, and no node had one for 2 s"):
        outcomes(pool, (where, 0.0), device="cuda")


@needs_ray
def test_gpus_are_shared_out_and_the_rest_keeps_to_the_cores(cluster):
    with node(cluster, "g", num_cpus=3, num_gpus=2):
        for share, told in ((1, "0.450 0.450"), (2, "0.225 0.225")):
            with opened(cluster, jobs_per_gpu=share) as pool:
                assert (pool.slots("cpu"), pool.slots("cuda")) == (5, 2 * share)
                for key in range(16):
                    device = "cuda" if key % 2 else "cpu"
                    pool.submit(key, (where, 0.5), 60.0, device=device)
                found = dict(pool.outcomes())
            on_gpus = {found[key].decode() for key in range(1, 16, 2)}
            assert on_gpus == {f"g {gpu} {told} -" for gpu in (0, 1)}
            assert {found[key].decode().partition(" ")[2] for key in range(0, 16, 2)} == {"none - - cpu"}


@needs_ray
def test_workers_get_variables_but_no_credentials(cluster, monkeypatch):
    monkeypatch.setenv("BFC_NODE", "told")
    monkeypatch.setenv("BFC_SECRET", "hunter2")
    with opened(cluster, environment={"MY_SECRET": "hunter2"}) as pool:
        assert outcomes(pool, (secrets_seen, None), (where, 0.0))[0] == b""
        assert outcomes(pool, (where, 0.0))[0].startswith(b"told ")


SESSION = """
import sys
from bfc_bench.extras.ray.executor import RayExecutor
from units_of_work import call, linger
pool = RayExecutor(address=sys.argv[1]).open(call)
pool.submit(0, (linger, (sys.argv[2],)), 600.0)
list(pool.outcomes())
"""


@needs_ray
def test_workers_end_with_a_session_that_is_killed(cluster, tmp_path):
    file = tmp_path / "lingers"
    session = subprocess.Popen([sys.executable, "-c", SESSION, cluster.address, str(file)])
    wait_until(file.exists)
    worker = file.read_text()
    assert alive(worker)
    session.kill()
    session.wait()
    wait_until(lambda: not alive(worker), 60)


@needs_ray
def test_an_address_where_nothing_is_says_what_to_do(tmp_path, refused):
    pytest.importorskip("ray")
    command = ["run", "smoke", "--store", str(tmp_path), "--no-mlflow", "--executor", "ray"]
    (line,) = refused(*command, "--executor-option", "address=127.0.0.1:9").splitlines()
    assert "executor 'ray': cannot join the cluster '127.0.0.1:9' from here:" in line


def test_without_ray_one_line_says_how_to_get_it(monkeypatch, tmp_path, refused):
    monkeypatch.setitem(sys.modules, "ray", None)
    (line,) = refused("run", "smoke", "--store", tmp_path / "store", "--executor", "ray").splitlines()
    assert 'pip install "bfc-bench[ray]"' in line
    assert not (tmp_path / "store").exists()


def test_a_folder_called_ray_is_not_taken_for_it(monkeypatch, tmp_path):
    (tmp_path / "ray").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *(p for p in sys.path if not (Path(p or ".") / "ray").exists())])
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    with pytest.raises(UsageError, match=r"No module named 'ray\.util'"):
        import_ray()
    monkeypatch.delitem(sys.modules, "ray", raising=False)


def test_options_are_shown_and_checked_without_ray(monkeypatch, printed, refused):
    monkeypatch.setitem(sys.modules, "ray", None)
    shown = printed("show", "ray")
    assert all(name in shown for name in ("address", "jobs_per_gpu", "environment"))
    said = refused("run", "smoke", "--executor", "ray", "--executor-option", "address=ray://host:1")
    assert "executor 'ray': address must be auto or HOST:PORT. Got 'ray://host:1'." in said
