"""Units on a Ray cluster of several nodes on this machine: some are killed, join late, or are not as they should be."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
import pytest
from installed_faulty import install_faulty
from ray_deeds import deed, fells_its_slot, meets, secrets_seen, slowly_where, where
from stored_rows import read_results

from bfc_bench import RunOptions, UsageError, hookimpl, run_suite
from bfc_bench.cli.app import run
from bfc_bench.executors.base import Resources, UnitFailure
from bfc_bench.extras.ray.cluster import import_ray
from bfc_bench.extras.ray.executor import RayExecutor
from bfc_bench.testing import check_executor
from bfc_bench.testing.executor_units import do, give
from bfc_bench.testing.pool_trial import alive

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT))  # last, so that the installed bfc_bench stays the one that is tested

needs_ray = pytest.mark.ray


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
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
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ["PYTHONPATH"]]))
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


def add(cluster: Any, name: str, **has: Any) -> Any:
    variables = {**has.pop("env_vars", {}), "BFC_NODE": name}
    return cluster.add_node(env_vars=variables, object_store_memory=80 * 2**20, **has)


@contextmanager
def node(cluster: Any, name: str, **has: Any) -> Iterator[Any]:
    """One more node for a while."""
    added = add(cluster, name, **has)
    try:
        yield added
    finally:
        with suppress(Exception):
            cluster.remove_node(added, allow_graceful=False)
        wait_until(lambda: sum(n["Alive"] for n in states(cluster)) == 2)


def states(cluster: Any) -> list[dict[str, Any]]:
    return list(cluster.global_state.node_table())


def wait_until(condition: Callable[[], object], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@contextmanager
def opened(cluster: Any, call: Callable[[Any], Any] = deed, jobs: int | None = None, **options: Any) -> Iterator[Any]:
    pool = RayExecutor(address=cluster.address, **options).open(call, jobs=jobs)
    try:
        yield pool
    finally:
        pool.close(now=True)


def outcomes(pool: Any, *payloads: Any, seconds: float = 60.0, **needs: Any) -> list[Any]:
    for key, payload in enumerate(payloads):
        pool.submit(key, payload, Resources(seconds, **needs))
    found = dict(pool.outcomes())
    return [found[key] for key in range(len(payloads))]


@needs_ray
def test_ray_keeps_every_law(cluster: Any) -> None:
    report = check_executor(RayExecutor(address=cluster.address))
    assert report.failed == 0


SLOW = [{"name": "slow", "options": {"seconds": 0.3}}, {"name": "kernel-ridge", "tune": {}}]


@needs_ray
def test_a_node_that_is_killed_costs_no_cell_and_changes_no_number(
    cluster: Any, suite_file: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from benchmarks.same import main as same

    path = suite_file(learner=SLOW, replicates=10)
    run_suite(path, RunOptions(store=tmp_path / "here", executor="processes", jobs=1, device="cpu"))
    with node(cluster, "b", num_cpus=2) as doomed:
        raylet = psutil.Process(doomed.all_processes["raylet"][0].process.pid)

        class Kills:
            rows = 0

            @hookimpl
            def bfc_result(self, result: Any) -> None:
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
    (lost,) = [
        line for line in lines(caplog) if "lost" in line
    ]  # Ray may report the node some seconds after its workers
    assert re.search(
        r"node .* (is lost; \d+ units? that it had|has lost workers; \d+ units? that they had) goe?s? to", lost
    )
    assert session.provenance["jobs"] == 4
    assert len({row.cell for row in read_results(path, store=tmp_path / "there")}) == 40
    assert same(str(tmp_path / "here"), str(tmp_path / "there")) == 0


@needs_ray
def test_a_node_that_joins_is_used(cluster: Any) -> None:
    with opened(cluster) as pool:
        seen: Counter[str] = Counter()
        keys = iter(range(3000))
        pool.submit(next(keys), (slowly_where, 0.1), Resources(60.0))
        added: Any = None
        for _, outcome in pool.outcomes():
            assert isinstance(outcome, bytes)
            seen[outcome.decode().split()[0]] += 1
            more = 0 if "late" in seen else 1
            if not added:
                assert set(seen) == {"a"}
                added = add(cluster, "late", num_cpus=1)
                more = 8  # than the slots of both nodes have room for
            for key in islice(keys, more):
                pool.submit(key, (slowly_where, 0.1), Resources(60.0))
        cluster.remove_node(added, allow_graceful=False)
    assert set(seen) == {"a", "late"}
    wait_until(lambda: sum(n["Alive"] for n in states(cluster)) == 2)


@needs_ray
def test_as_many_units_as_there_are_slots_run_at_once(cluster: Any, tmp_path: Path) -> None:
    with node(cluster, "b", num_cpus=4), opened(cluster) as pool:
        assert outcomes(pool, *[(meets, (str(tmp_path), 6))] * 6) == [b"met"] * 6


@pytest.fixture
def other_site(tmp_path: Path) -> dict[str, str]:
    """The environment of a node that has another torch."""
    info = tmp_path / "site" / "torch-0.0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 0.0.1\n")
    return {
        "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    }


OLD = r"Ray: node .* is left out: it has torch 0\.0\.1 \(here .*\)\. Install the same version there"


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name.startswith("bfc_bench")]


@needs_ray
def test_a_node_with_other_versions_is_left_out_in_one_line(
    cluster: Any, other_site: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with node(cluster, "old", num_cpus=2, env_vars=other_site), opened(cluster) as pool:
        assert pool.slots("cpu") == 2
        seen = outcomes(pool, *[(slowly_where, 0.3)] * 6)
    assert {outcome.decode().split()[0] for outcome in seen} == {"a"}
    (line,) = lines(caplog)
    assert re.match(OLD, line)


@needs_ray
def test_one_that_joins_later_is_left_out(
    cluster: Any, other_site: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with opened(cluster) as pool, node(cluster, "old", num_cpus=1, env_vars=other_site):
        pool.submit(0, (slowly_where, 0.2), Resources(60.0))
        seen = set()
        for key, outcome in pool.outcomes():
            seen.add(outcome.decode().split()[0])
            if not lines(caplog) and key < 1000:
                pool.submit(key + 1, (slowly_where, 0.2), Resources(60.0))
    assert seen == {"a"}
    assert re.match(OLD, lines(caplog)[0])


@needs_ray
def test_if_all_nodes_have_other_versions_the_run_ends_with_an_error(
    cluster: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("bfc_bench.extras.ray.node.PACKAGES", ("bfc-bench", "not-on-any-node"))
    monkeypatch.setattr("importlib.metadata.version", lambda name: "1.0")
    with pytest.raises(UsageError, match=r"no node of the cluster has the versions of this machine"):
        RayExecutor(address=cluster.address).open(deed)
    assert "not-on-any-node missing (here 1.0)" in lines(caplog)[-1]


@pytest.fixture
def plugin_site(tmp_path: Path) -> dict[str, str]:
    """The environment of a node that has another release of the plugin ``breaking-learners``."""
    site = tmp_path / "old-plugin"
    info = site / "breaking_learners-0.9.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: breaking-learners\nVersion: 0.9\n")
    return {"PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}


@needs_ray
@pytest.mark.parametrize(("learner", "used"), [(SLOW[:1], False), (SLOW[1:], True)])
def test_a_node_with_an_old_plugin_takes_part_in_suites_without_that_plugin(
    cluster: Any,
    suite_file: Any,
    tmp_path: Path,
    plugin_site: dict[str, str],
    caplog: pytest.LogCaptureFixture,
    learner: list[Any],
    used: bool,
) -> None:
    path = suite_file(learner=learner)
    options = {"address": cluster.address}
    with node(cluster, "old", num_cpus=2, env_vars=plugin_site):
        session = run_suite(
            path, RunOptions(store=tmp_path / "s", executor="ray", executor_options=options, device="cpu")
        )
    assert session.statuses == {"ok": 2}
    assert session.provenance["jobs"] == (4 if used else 2)
    left_out = [line for line in lines(caplog) if "is left out" in line]
    assert len(left_out) == (0 if used else 1)
    assert all("it has breaking-learners 0.9 (here 1.0)" in line for line in left_out)


@needs_ray
@pytest.mark.parametrize(("times", "kind"), [(2, ""), (9, "lost")])
def test_a_unit_whose_slots_die_is_given_to_others_twice(cluster: Any, tmp_path: Path, times: int, kind: str) -> None:
    file = tmp_path / "attempts"
    with opened(cluster, jobs=1) as pool:
        outcome, other = outcomes(pool, (fells_its_slot, (str(file), times)), (give, b"other"))
    assert other == b"other"
    assert len(file.read_text()) == 3
    if kind:
        assert isinstance(outcome, UnitFailure)
        assert (outcome.kind, "3 workers were lost while they ran it" in outcome.reason) == (kind, True)
    else:
        assert outcome == b"done"


@needs_ray
def test_a_slot_that_says_nothing_is_replaced(cluster: Any, tmp_path: Path) -> None:
    file = tmp_path / "lingers"
    with opened(cluster, do, jobs=1, grace_seconds=3.0) as pool:
        pool.submit(0, ("linger", str(file)), Resources(5.0))
        pool.submit(1, ("give", b"after"), Resources(60.0))
        # Its actor is stopped as soon as the unit has begun, so that the pool in it cannot end the unit.
        with subprocess.Popen([sys.executable, "-c", STOP, str(file)]):
            found = dict(pool.outcomes())
    assert found[1] == b"after"
    assert isinstance(found[0], UnitFailure)
    assert (found[0].kind, "said nothing for 5 s and 3 s of grace" in found[0].reason) == ("timeout", True)


STOP = """
import os, signal, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(.05)
worker = open(sys.argv[1]).read().split()[1]
parent = open(f"/proc/{worker}/status").read().split("PPid:")[1].split()[0]
os.kill(int(parent), signal.SIGSTOP)
"""


@needs_ray
def test_gpus_are_shared_out_and_the_rest_keeps_to_the_cores(cluster: Any) -> None:
    with node(cluster, "g", num_cpus=3, num_gpus=2):
        for share, told in ((1, "0.450 0.450"), (2, "0.225 0.225")):
            with opened(cluster, jobs_per_gpu=share) as pool:
                assert (pool.slots("cpu"), pool.slots("cuda")) == (5, 2 * share)
                for key in range(16):
                    device = "cuda" if key % 2 else "cpu"
                    pool.submit(key, (slowly_where, 0.5), Resources(60.0, device=device))  # type: ignore[arg-type]
                found = dict(pool.outcomes())
            on_gpus = {found[key].decode() for key in range(1, 16, 2)}
            assert on_gpus == {f"g {gpu} {told} -" for gpu in (0, 1)}
            assert {found[key].decode().partition(" ")[2] for key in range(0, 16, 2)} == {"none - - cpu"}


@needs_ray
def test_units_go_where_there_is_memory_for_them(cluster: Any) -> None:
    with node(cluster, "large", num_cpus=1, memory=10**13), opened(cluster) as pool:
        for key in range(4):
            pool.submit(key, (where, None), Resources(60.0, memory_bytes=9 * 10**12))
        pool.submit(4, (where, None), Resources(60.0, memory_bytes=10**14))
        found = dict(pool.outcomes())
    assert {found[key].split()[0] for key in range(4)} == {b"large"}
    assert found[4] == UnitFailure("memory", "needs 1e+05 GB of memory; the largest node of the cluster has 1e+04 GB")


@needs_ray
def test_workers_get_variables_but_no_credentials(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BFC_NODE", "told")
    monkeypatch.setenv("BFC_SECRET", "hunter2")
    with opened(cluster, environment={"MY_SECRET": "hunter2"}) as pool:
        assert outcomes(pool, (secrets_seen, None), (where, None))[0] == b""
        assert outcomes(pool, (where, None))[0].startswith(b"told ")


SESSION = """
import sys
from bfc_bench.executors.base import Resources
from bfc_bench.extras.ray.executor import RayExecutor
from ray_deeds import deed, lingers_with_a_child
pool = RayExecutor(address=sys.argv[1]).open(deed)
pool.submit(0, (lingers_with_a_child, sys.argv[2]), Resources(600.0))
list(pool.outcomes())
"""


@needs_ray
def test_workers_and_what_they_started_end_with_a_session_that_is_killed(cluster: Any, tmp_path: Path) -> None:
    file = tmp_path / "lingers"
    session = subprocess.Popen([sys.executable, "-c", SESSION, cluster.address, str(file)])
    wait_until(file.exists)
    processes = [int(process) for process in file.read_text().split()]
    assert all(map(alive, processes))
    session.kill()
    session.wait()
    wait_until(lambda: not any(map(alive, processes)), 60)


@needs_ray
def test_a_cluster_of_our_own_says_so_asks_for_a_token_and_leaves_nothing(
    bench: Any, suite_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    from benchmarks.same import main as same

    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH", "RAY_USAGE_STATS_ENABLED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", "/tmp")
    before = set(Path("/tmp").glob("bfc-ray-*"))
    path = suite_file(learner=[{"name": "kernel-ridge", "tune": {}}], executor={"name": "ray", "cpus_per_slot": 1})
    options = ("--no-mlflow", "--jobs", "1", "--device", "cpu")
    ended = bench("run", path, "--store", tmp_path / "ray", *options, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "require a token that only this run has" in " ".join(ended.stdout.split())
    assert ended.stderr == ""
    assert set(Path("/tmp").glob("bfc-ray-*")) == before
    assert bench("run", path, "--store", tmp_path / "here", *options, "--executor", "processes").returncode == 0
    assert same(str(tmp_path / "here"), str(tmp_path / "ray")) == 0


@needs_ray
def test_an_address_where_nothing_is_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ray")
    command = ["run", "smoke", "--store", str(tmp_path), "--no-mlflow", "--executor", "ray"]
    assert run([*command, "--executor-option", "address=127.0.0.1:9"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "executor 'ray': cannot join the cluster '127.0.0.1:9' from here:" in line


def test_without_ray_one_line_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run(["run", "smoke", "--store", str(tmp_path / "store"), "--executor", "ray"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert 'pip install "bfc-bench[ray]"' in line
    assert not (tmp_path / "store").exists()


def test_a_folder_called_ray_is_not_taken_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ray").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *(p for p in sys.path if not (Path(p or ".") / "ray").exists())])
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    with pytest.raises(UsageError, match=r"only a folder .*ray is there"):
        import_ray()
    monkeypatch.delitem(sys.modules, "ray", raising=False)


def test_options_are_shown_and_checked_without_ray(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run(["show", "ray"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("address", "cpus_per_slot", "jobs_per_gpu", "grace_seconds"))
    assert run(["run", "smoke", "--executor", "ray", "--executor-option", "address=ray://host:1"]) == 2
    assert "executor 'ray': address must be auto, HOST:PORT or none. Got 'ray://host:1'." in capsys.readouterr().err


def test_ray_is_imported_only_where_it_is_used() -> None:
    code = "import sys, bfc_bench.executors, bfc_bench.plugins as p; p.load_plugins(); sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
