"""What plugins register, what is said of a broken one, and that its code harms nothing else."""

import re
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import pytest
from breaking_learners import Constant, Mean
from claim_results import judge
from local_plugins import plugin, registers
from small_tasks import SMALL
from stored_rows import read_results

from bfc_bench import Executor, Metric, PointClaim, RunOptions, Target, Teacher, load_plugins, run_suite
from bfc_bench.analysis.claims import parse_claims
from bfc_bench.errors import BenchError, PluginError, UsageError
from bfc_bench.learner import Learner
from bfc_bench.suite.read import read_suite


class Twin(Mean):
    """Has a name of the framework's."""

    name: ClassVar[str] = "kernel-ridge"


class Nameless(Target):
    """Has no kind."""

    def draw(self, rng, law):
        raise NotImplementedError


class Abstract(Learner):
    """Has no fit."""

    name: ClassVar[str] = "abstract"


def listener(heard):
    def hears(result):
        heard.append(result)

    return plugin(bfc_result=hears)


def reasons(plugins):
    return [str(item) for item in plugins.unavailable]


def test_nothing_that_is_installed_here_is_unavailable():
    plugins = load_plugins()
    plugins.import_all()
    assert reasons(plugins) == []


def test_the_frameworks_own_parts_come_through_the_hook():
    plugins = load_plugins()
    for kind in ("input distribution", "target", "labelling", "metric", "claim kind", "executor"):
        registry = plugins.registries[kind]
        assert len(registry)
        assert all(registry.origin(name).partition(".")[0] == "bfc_bench" for name in registry)


@pytest.mark.parametrize(
    ("kind", "what", "reason"),
    [
        ("learner", (Twin,), "learner test_plugins.Twin: the name 'kernel-ridge' is registered by two plugins: "),
        ("learner", (Abstract,), "learner test_plugins.Abstract is abstract: it must define fit."),
        ("learner", (Constant,), "learner breaking_learners.Constant must be a subclass of bfc_bench.Learner."),
        ("target", (Nameless,), "target test_plugins.Nameless must say what it is called: kind: ClassVar[str]"),
        ("inputs", (Nameless,), "input distribution test_plugins.Nameless must be a subclass of bfc_bench.Inputs."),
        ("metric", (len,), "metric builtins.len must be a bfc_bench.Metric."),
        ("metric", (Metric("a.b", max),), "must have a name of letters, digits, - and _."),
        ("metric", (Metric("nmse", max),), "the name 'nmse' is registered by two plugins: 'bfc_bench', which keeps"),
        ("suite", ("x", "x.toml"), "suite 'x.toml' must be a pathlib.Path, such as Path(__file__).with_name("),
        ("suite", ("x", Path("/nowhere/x.toml")), "is not there; does the distribution contain it?"),
        ("plot", ("", max), "plot builtins.max must have a name, a non-empty string. Got ''."),
        ("suite", ("x",), "bfc_register raised TypeError: "),
    ],
)
def test_a_wrong_registration_is_listed_with_its_reason_and_stops_nothing(kind, what, reason):
    plugins = load_plugins([registers(kind, *what), registers("learner", Mean)])
    [found] = reasons(plugins)
    assert found.startswith("faulty: unavailable: ")
    assert reason in found
    assert plugins.learners.origin("kernel-ridge") == "bfc-bench:builtin"
    assert plugins.learner("mean") is Mean


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_a_registration_may_raise_anything(error):
    def fails(register):
        raise error("on purpose")

    plugins = load_plugins([plugin(bfc_register=fails), registers("learner", Mean)])
    assert reasons(plugins) == [f"faulty: unavailable: bfc_register raised {error.__name__}: on purpose"]
    assert plugins.learner("mean") is Mean


def test_hooks_that_do_not_fit_are_named():
    misspelt = plugin(bfc_registers=lambda register: None, bfc_register=lambda register: register.learner(Mean))
    plugins = load_plugins([misspelt, plugin(bfc_result=lambda row: None)])
    missing, wrong = reasons(plugins)
    assert missing.endswith("a hook 'bfc_registers' that does not exist. Did you mean 'bfc_register'?")
    assert "does not fit the hooks" in wrong
    assert "'row'" in wrong
    assert plugins.learner("mean") is Mean


def test_no_order_of_hooks_gives_away_a_name():
    first = plugin(bfc_register=(lambda register: register.learner(Twin), {"tryfirst": True}))
    assert load_plugins([first]).learner("kernel-ridge") is not Twin


@pytest.mark.parametrize("error", [RuntimeError, SystemExit])
def test_an_event_that_raises_is_reported_once_and_the_others_are_called(error, caplog):
    def fails(result):
        raise error("the event failed")

    heard = []
    plugins = load_plugins([listener(heard), plugin(bfc_result=fails)])
    for row in (1, 2, 3):
        plugins.manager.hook.bfc_result(result=row)
    assert heard == [1, 2, 3]
    assert len(caplog.records) == 1
    assert f"{error.__name__}: the event failed" in caplog.text


def test_ctrl_c_in_an_event_still_interrupts():
    def interrupted(result):
        raise KeyboardInterrupt

    plugins = load_plugins([plugin(bfc_result=interrupted)])
    with pytest.raises(KeyboardInterrupt):
        plugins.manager.hook.bfc_result(result=None)


def test_the_sessions_own_listeners_may_stop_a_run_on_purpose():
    def stops(result):
        raise BenchError("the disk is full")

    plugins = load_plugins()
    with plugins.with_listeners([plugin(bfc_result=stops)]), pytest.raises(BenchError, match="the disk is full"):
        plugins.manager.hook.bfc_result(result=None)
    plugins.manager.hook.bfc_result(result=None)


class Raises(Executor):
    """Cannot be opened."""

    place: ClassVar = "session"

    name: ClassVar[str] = "broken"

    def open(self, call, preload=None, jobs=None):
        raise IndexError("on purpose")


def test_an_executor_that_cannot_be_opened_names_its_plugin(suite_file, tmp_path):
    plugins = load_plugins([registers("executor", Raises), registers("learner", Mean)])
    path = suite_file(learner=[{"name": "mean"}])

    def run(**options):
        run_suite(path, RunOptions(store=tmp_path, plugins=plugins, **options))

    with pytest.raises(PluginError, match=r"executor 'broken' of plugin 'faulty': open raised IndexError"):
        run(executor="broken")
    with pytest.raises(UsageError, match=r"executor 'processes': unknown option 'stat'. Did you mean 'start'\?"):
        run(executor="processes", executor_options={"stat": "spawn"})


def test_a_plot_that_fails_leaves_the_others(caplog):
    import altair

    def good(rows):
        return {"fine": altair.Chart().mark_point()}

    def undrawable(rows):
        return {"undrawable": altair.Chart()}  # without a mark

    def saved(file, format, metadata):
        file.write(f"{format} {metadata}".encode())

    plots = {
        "a": lambda rows: 1 / 0,
        "b": good,
        "c": undrawable,
        "d": lambda rows: ["no mapping"],
        "e": sys.exit,
        "f": good,
        "g": lambda rows: {"number": 3},
        "h": lambda rows: {"picture": SimpleNamespace(savefig=saved)},
        "i": "collections:Counter",  # by its place, as every part may be; no rows have no figures
        "j": "no_such_module:draw",
    }
    plugins = load_plugins([registers("plot", name, plot) for name, plot in plots.items()])
    assert plugins.figures([]) == {"fine": altair.Chart().mark_point().to_dict(), "picture": b"svg {'Date': None}"}
    assert [record.getMessage().split(" failed in ")[1][:8] for record in caplog.records] == [
        f"plot '{name}'" for name in "acdefgj"
    ]
    assert "TypeError: a plot must give charts of Altair or figures of Matplotlib. Got int" in caplog.text


@pytest.mark.parametrize(
    ("judge_it", "words"),
    [
        (lambda: 1 / 0, "Faulty raised ZeroDivisionError: division by zero"),
        (sys.exit, "Faulty raised SystemExit"),
        (lambda: True, "Faulty raised TypeError: judge must return a Finding. Got True"),
    ],
    ids=["raises", "exits", "no verdict"],
)
def test_a_claim_that_cannot_be_judged_is_undecided_and_says_why(judge_it, words, suite_file):
    class Faulty(PointClaim):
        kind: ClassVar[str] = "faulty"
        predictors: ClassVar = ("kernel-ridge",)

        def judge(self, rows):
            return judge_it()

    claims = [{"id": "c", "kind": "faulty", "task": "t"}]
    suite = read_suite(suite_file(learner=[{"name": "kernel-ridge"}], claim=claims))
    [verdict] = judge(parse_claims(suite, load_plugins([registers("claim", Faulty)]).claims), [])
    assert (verdict.id, verdict.verdict) == ("c", "undecided")
    assert words in verdict.note


# --- metrics ---


def metrics_of(suite_file, tmp_path, *metrics, **suite):
    module = plugin(bfc_register=lambda register: [register.metric(metric) for metric in metrics])
    path = suite_file(learner=[{"name": "kernel-ridge", "tune": {}}], **suite)
    run_suite(path, RunOptions(store=tmp_path / "store", executor="serial", plugins=load_plugins([module])))
    return read_results(path, store=tmp_path / "store")


def test_metrics_are_measured_where_they_apply(suite_file, tmp_path):
    rows = metrics_of(
        suite_file,
        tmp_path,
        Metric("mean_square", lambda prediction, truth: ((prediction - truth.target) ** 2).mean()),
        Metric("never_zero", lambda prediction, truth: 0.0, floor=1e-3),
        Metric("signs", lambda prediction, truth: 1.0, labels=frozenset({"binary"})),
    )
    assert [set(row.metrics) for row in rows] == [{"mean_square", "never_zero"}] * 2
    assert all(row.metrics["never_zero"] == 1e-3 for row in rows)
    assert all(row.floors == {"metrics.never_zero": 1e-3} for row in rows)
    assert all(row.metrics["mean_square"] > 0 and row.reason == "" for row in rows)


def test_a_metric_that_fails_is_named_and_changes_nothing_else(suite_file, tmp_path):
    def spoils(prediction, truth):
        prediction[:] = 0
        return 1.0

    plain = metrics_of(suite_file, tmp_path / "plain")
    rows = metrics_of(
        suite_file,
        tmp_path / "faulty",
        Metric("a_spoils", spoils),
        Metric("exits", lambda prediction, truth: sys.exit("enough")),
        Metric("negative", lambda prediction, truth: -1.0),
        Metric("right", lambda prediction, truth: 1),
    )
    for row, same in zip(rows, plain, strict=True):
        assert (row.status, row.nmse, row.nmse_trimmed) == ("ok", same.nmse, same.nmse_trimmed)
        assert row.metrics == {"right": 1.0}
        assert "metric 'a_spoils' raised ValueError: assignment destination is read-only" in row.reason
        assert "metric 'exits' raised SystemExit: enough" in row.reason
        assert "metric 'negative' raised ValueError: must give a finite number >= 0. Got -1.0" in row.reason


# --- learners that are registered by where they are ---


def test_a_learner_registered_by_its_place_is_imported_when_it_is_named(tmp_path, monkeypatch):
    (tmp_path / "late_learner.py").write_text("from breaking_learners import Mean as Late")
    monkeypatch.syspath_prepend(tmp_path)
    plugins = load_plugins([registers("learner", "late_learner:Late", "mean")])
    assert "mean" in plugins.learners
    assert "late_learner" not in sys.modules
    assert plugins.learner("mean").name == "mean"
    monkeypatch.delitem(sys.modules, "late_learner")


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("no_such_module:Mean", "learner 'late' of plugin 'faulty': ModuleNotFoundError: No module named"),
        ("breaking_learners:Nothing", "learner 'late' of plugin 'faulty': AttributeError: "),
        ("breaking_learners:Constant", "learner breaking_learners.Constant of plugin 'faulty' must be a subclass of"),
        ("breaking_learners:Mean", "plugin 'faulty' is registered as 'late', but is called 'mean'."),
    ],
)
def test_a_place_without_the_learner_is_said_when_it_is_named_and_stops_nothing(place, reason):
    plugins = load_plugins([registers("learner", place, "late"), registers("learner", Mean)])
    with pytest.raises(UsageError, match=re.escape(reason)):
        plugins.learner("late")
    plugins.import_all()
    assert "late" not in plugins.learners
    assert reason in "".join(reasons(plugins))
    assert "mean" in plugins.learners


def test_a_name_in_a_module_without_a_spec_is_unknown_with_a_suggestion(monkeypatch):
    monkeypatch.setitem(sys.modules, "bare", ModuleType("bare"))  # like ``__main__`` of a script
    with pytest.raises(UsageError, match=r"unknown learner 'bare\.Foo'.*'bare:Foo'"):
        load_plugins().learner("bare.Foo")


# --- what workers get ---


class Coordinate(Teacher):
    def __call__(self, x):
        return x[:, 0]


def local_parts(holds):
    """A learner, a metric and a target that no other process can import, and that hold something."""

    class LocalLearner(Mean):
        name: ClassVar[str] = "here"
        held: ClassVar = holds

    class LocalTarget(Target):
        kind: ClassVar[str] = "local"
        held: ClassVar = holds

        def draw(self, rng, law):
            return Coordinate()

    def measure(prediction, truth, held=holds):
        return 1.0

    return {"learner": LocalLearner, "metric": Metric("local", measure), "target": LocalTarget}


def local_run(suite_file, tmp_path, *parts, **options):
    target = [{**SMALL, "target": {"kind": "local"}}] if "target" in dict(parts) else [SMALL]
    path = suite_file(learner=[{"name": "here" if "learner" in dict(parts) else "mean"}], task=target)
    plugins = load_plugins([registers(*part) for part in (("learner", Mean), *parts)])
    return run_suite(path, RunOptions(store=tmp_path / "store", plugins=plugins, jobs=1, **options))


def test_parts_that_no_other_process_can_import_reach_the_workers(suite_file, tmp_path):
    session = local_run(suite_file, tmp_path, *local_parts(None).items())
    assert session.statuses == {"ok": 2}


@pytest.mark.parametrize(
    ("kind", "named"), [("learner", "learner 'here'"), ("metric", "metric 'local'"), ("target", "task 't'")]
)
def test_a_part_that_cannot_be_sent_stops_before_anything_runs_except_in_serial(kind, named, suite_file, tmp_path):
    part = kind, local_parts(threading.Lock())[kind]
    with pytest.raises(UsageError, match=f"^{named} cannot be sent to a worker process: TypeError: cannot pickle"):
        local_run(suite_file, tmp_path, part)
    assert not (tmp_path / "store").exists()
    assert local_run(suite_file, tmp_path, part, executor="serial").statuses == {"ok": 2}


def test_a_plugin_that_only_listens_stays_with_the_session(suite_file, tmp_path):
    rows = []
    path, plugins = suite_file(learner=[{"name": "mean"}]), [registers("learner", Mean), listener(rows)]
    run_suite(path, RunOptions(store=tmp_path / "store", jobs=1, plugins=load_plugins(plugins)))
    assert [row.status for row in rows] == ["ok", "ok"]
