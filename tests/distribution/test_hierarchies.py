"""Theories of other people fit into the contract: classes, joint laws, shapes, options for theories, one pass."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from installed_faulty import announce

from bfc_bench import Plugins, RunOptions, load_plugins, open_store, run_suite
from bfc_bench.cli.app import run
from bfc_bench.seeds import stream
from bfc_bench.store.rows import Rows
from bfc_bench.suite.model import read_suite
from bfc_bench.tasks.base import PointSource
from bfc_bench.tasks.build import build_task
from bfc_bench.tasks.task import Task
from bfc_bench.testing import check_learner, check_part

SOURCE = Path(__file__).parent / "hierarchies"
GRAMMAR = {"kind": "outside-hierarchy", "vocabulary": 4, "synonyms": 2, "branching": 2, "levels": 2, "classes": 3}


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugins]:
    """The plugins of an environment in which the distribution is installed."""
    site = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        shutil.copytree(SOURCE / "outside_hierarchies", site / "outside_hierarchies")
        announce(site, "outside-hierarchies", "hierarchies", "outside_hierarchies", patch)
        found = load_plugins()
        assert found.unavailable == []
        yield found


@pytest.fixture(scope="module")
def results(plugins: Plugins, tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, dict[str, str]]:
    """The rows of the distribution's suite, run in worker processes, and the verdicts of its claims."""
    store = tmp_path_factory.mktemp("store")
    session = run_suite("hierarchies", RunOptions(store=store, jobs=1))
    assert set(session.statuses) == {"ok"}
    with open_store(store) as opened:
        suite = opened["hierarchies"]
        return Rows.of(list(suite.rows())), {verdict.id: verdict.verdict for verdict in suite.claims()}


def task_of(plugins: Plugins, **parts: object) -> Task:
    return build_task("t", **{"labels": {"kind": "clean"}, **parts}, kinds=plugins.kinds, where="test")


def source_of(plugins: Plugins, **options: object) -> PointSource:
    law = plugins.laws.get("outside-hierarchy")(**{k: v for k, v in {**GRAMMAR, **options}.items() if k != "kind"})
    assert law.dimension is not None
    return law.draw(stream("grammar"), law.dimension)


# --- the public checks ---


@pytest.mark.parametrize(
    ("kind", "name"),
    [("laws", "outside-hierarchy"), ("laws", "hidden-coin"), ("inputs", "letters"), ("targets", "parse")],
)
def test_its_parts_meet_every_requirement(plugins: Plugins, kind: str, name: str) -> None:
    report = check_part(plugins.registries[kind].get(name))
    assert report.passed >= 5


@pytest.mark.parametrize("name", ["commonest", "pairs", "plain-least-squares", "one-pass"])
def test_its_learners_meet_every_requirement(plugins: Plugins, name: str) -> None:
    report = check_learner(plugins.learner(name))
    tested = {check.name for check in report.checks if check.outcome == "passed"}
    assert ("one pass goes through smaller fits" in tested) == (name == "one-pass")


def test_the_command_checks_a_law_with_options_and_a_suite(
    plugins: Plugins, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", "outside-hierarchy", "--set", "levels=1", "--set", "classes=2"]) == 0
    assert run(["check", "hierarchies"]) == 0
    assert "0 failed" in capsys.readouterr().out
    assert run(["check", "outside-hierarchy", "--set", "synonyms=9"]) == 1
    assert "check(d) refuses d = 32: there are 64 strings, fewer than the 72" in capsys.readouterr().out


# --- closed forms of the grammar ---


def test_every_sequence_of_a_class_is_equally_likely_and_decodes_to_it(plugins: Plugins) -> None:
    x, y = source_of(plugins).sample(stream("points"), 60_000)
    assert np.array_equal(source_of(plugins).expected(x), y)
    sequences, counts = np.unique(np.column_stack([y, x]), axis=0, return_counts=True)
    per_class = 2 ** (1 + 2)  # m^((s^L - 1) / (s - 1))
    assert len(sequences) == 3 * per_class
    assert len(np.unique(sequences[:, 1:], axis=0)) == len(sequences)
    expected = 60_000 / len(sequences)
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)


def test_symbols_and_pairs_are_uniform_where_every_string_has_a_parent(plugins: Plugins) -> None:
    source = source_of(plugins, synonyms=4, classes=4, levels=3)
    np.testing.assert_allclose(source.square_mean, 1 / 4, rtol=1e-12)
    x, _ = source.sample(stream("points"), 40_000)
    symbols = x.reshape(-1, 8, 4).argmax(axis=2)
    for first, second in ((0, 1), (1, 2), (0, 7)):
        counts = np.bincount(symbols[:, first] * 4 + symbols[:, second], minlength=16)
        assert np.abs(counts - 2500).max() < 5 * np.sqrt(2500)


def test_strings_of_no_parent_have_no_class(plugins: Plugins) -> None:
    every = np.stack(np.meshgrid(*[np.arange(4)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    classes = source_of(plugins).expected(np.eye(4)[every].reshape(len(every), -1))
    assert [int((classes == number).sum()) for number in (-1, 0, 1, 2)] == [4**4 - 24, 8, 8, 8]


# --- what a task makes of them ---


def test_samples_are_nested_and_labels_are_class_numbers(plugins: Plugins) -> None:
    made = task_of(plugins, law=GRAMMAR)
    assert (made.kind, made.classes, made.dimension, made.check(16), made.shape(16)) == ("class", 3, 16, None, (4, 4))
    assert "d must be 16" in (made.check(12) or "")
    small, large = (made.problem(0, 16, 0, 2000).train(n) for n in (100, 1500))
    assert (small.kind, small.classes, small.shape) == ("class", 3, (4, 4))
    assert np.array_equal(large.x[:100], small.x)
    assert np.array_equal(large.y[:100], small.y)
    assert small.sample == large.sample
    assert set(large.y) == {0.0, 1.0, 2.0}
    problem = made.problem(0, 16, 0, 2000)
    others = (large.x[1024:1124], made.problem(0, 16, 1, 2000).train(100).x, problem.test_x[:100])
    assert not any(np.array_equal(other, small.x) for other in others)


def test_two_classes_are_signs(plugins: Plugins) -> None:
    made = task_of(plugins, law={**GRAMMAR, "classes": 2})
    problem = made.problem(0, 16, 0, 2000)
    assert (made.kind, made.classes) == ("binary", 0)
    assert set(problem.train(50).y) == set(problem.test_y) == {-1.0, 1.0}


def test_flipped_labels_are_measured_against_the_classes(plugins: Plugins) -> None:
    target = {"inputs": {"kind": "letters"}, "target": {"kind": "parse"}, "labels": {"kind": "flip", "rate": 0.2}}
    problem = task_of(plugins, **target).problem(0, 16, 0, 20_000)
    assert problem.train(10).shape == (4, 4)
    wrong = np.mean(problem.test_labels != problem.test_y)
    assert abs(wrong - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 20_000)
    assert set(problem.test_labels) == {0.0, 1.0, 2.0, 3.0}
    assert np.array_equal(problem.test_y, problem.teacher(problem.test_x))


def test_labels_that_do_not_go_with_classes_or_with_a_law_are_refused(plugins: Plugins) -> None:
    assert "not class ones" in (task_of(plugins, law=GRAMMAR, labels={"kind": "noise", "sd": 0.1}).check(16) or "")
    coin = {"kind": "hidden-coin"}
    assert "law of inputs" in (task_of(plugins, law=coin, labels={"kind": "threshold"}).check(5) or "")
    assert task_of(plugins, law=coin, labels={"kind": "noise", "sd": 0.1}).check(5) is None


def test_learners_are_told_the_options_with_defaults_and_cannot_change_them(plugins: Plugins) -> None:
    facts = task_of(plugins, law={"kind": "outside-hierarchy", "levels": 3}).facts(64)
    assert (facts.law, facts.target, facts.inputs) == ("outside-hierarchy", "", "")
    assert facts.options == {"vocabulary": 8, "synonyms": 2, "branching": 2, "levels": 3, "classes": 8}
    with pytest.raises(TypeError):
        facts.options["levels"] = 2  # type: ignore[index]
    facts = task_of(plugins, inputs={"kind": "letters"}, target={"kind": "parse"}).facts(16)
    assert (facts.options, facts.input_options) == ({"alphabet": 4}, {"alphabet": 4})
    assert hash(facts) == hash(task_of(plugins, inputs={"kind": "letters"}, target={"kind": "parse"}).facts(16))


def test_paired_laws_give_the_same_points_with_another_coin(plugins: Plugins) -> None:
    one, other = (
        task_of(plugins, law={"kind": "hidden-coin", "size": size}, teacher="root").problem(0, 5, 0, 200)
        for size in (0.5, 0.1)
    )
    assert np.array_equal(one.train(50).x, other.train(50).x)
    x = one.train(50).x[:, 0]
    np.testing.assert_allclose(one.train(50).y - x, 5 * (other.train(50).y - x), atol=1e-12)
    grammars = [task_of(plugins, law={**GRAMMAR, "levels": levels}) for levels in (1, 2)]
    assert "same levels" in (grammars[0].check_teacher(grammars[1]) or "")
    target = task_of(plugins, inputs={"kind": "letters"}, target={"kind": "parse"})
    assert grammars[0].check_teacher(target) == "both need a joint law; the other has a target"


# --- a suite of them ---


def values(rows: Rows, task: str, label: str, n: int, name: str = "error_rate", d: int | None = None) -> np.ndarray:
    return rows.where(task=task, label=label, n=n, d=d).number(*name.split("."))


def test_error_rates_of_eight_classes(results: tuple[Rows, dict[str, str]]) -> None:
    rows, _ = results
    constant = values(rows, "grammar", "commonest", 512)
    assert np.abs(constant - 7 / 8).max() < 5 * np.sqrt(7 / 64 / 2000)
    for label in ("kernel-ridge", "pairs"):
        small, large = (values(rows, "grammar", label, n).mean() for n in (128, 512))
        assert large < small < 0.8
    assert np.isnan(values(rows, "grammar", "pairs", 512, "nmse")).all()
    assert np.abs(values(rows, "parse", "commonest", 512) - 3 / 4).max() < 5 * np.sqrt(3 / 16 / 2000) + 0.05


def test_errors_are_measured_against_what_is_expected_or_the_labels_drawn(
    results: tuple[Rows, dict[str, str]],
) -> None:
    rows, _ = results
    told = values(rows, "coin", "plain-least-squares", 128, "nmse", 5)
    untold = values(rows, "coin-untold", "plain-least-squares", 128, "nmse")
    # E (F - y)^2 = E (F - G*)^2 + size^2 and Var y = 1 + size^2, on the same points.
    np.testing.assert_allclose(untold * 1.25, told + 0.25, rtol=0.1)


def test_a_theory_reads_the_options_and_is_judged(results: tuple[Rows, dict[str, str]]) -> None:
    assert results[1] == {"as-theory-says": "supported", "pairs-tell-the-class": "supported"}


def test_one_pass_sees_the_same_stream_at_every_n(results: tuple[Rows, dict[str, str]]) -> None:
    rows, _ = results
    of_pass = rows.where(label="one-pass")
    assert set(of_pass.d.tolist()) == {5}  # max_d
    for n, m in ((64, 32), (128, 32), (128, 64)):
        stage = values(rows, "coin", "one-pass", n, f"stages.n{m}.nmse")
        assert np.array_equal(stage, values(rows, "coin", "one-pass", m, "nmse"))
    at = {(row.task.removesuffix("-untold"), row.d, row.replicate, row.seed) for row in rows}
    assert len(at) == len({point[:3] for point in at})  # neither n, nor the learner, nor its options change the seed


def test_the_suite_survives_its_own_definition(plugins: Plugins) -> None:
    suite = read_suite(plugins.suites.get("hierarchies"))
    definition = json.loads(json.dumps(suite.definition()))
    assert "inputs" not in [key for key, value in definition["task"][0].items() if value is not None]
    assert type(suite).parse(definition, "again").definition() == suite.definition()


# --- a sweep over the grammar's numbers ---


def test_synonyms_and_levels_are_axes_and_the_exponent_in_synonyms_is_that_of_the_closed_form(
    plugins: Plugins, tmp_path: Path
) -> None:
    session = run_suite("hierarchy-sweep", RunOptions(store=tmp_path, jobs=1))
    assert set(session.statuses) == {"ok"}
    with open_store(tmp_path) as store:
        suite = store["hierarchy-sweep"]
        rows = suite.rows()
        (verdict,) = suite.claims()
    at = {(row.task, row.d, *row.axes.items()) for row in rows}
    names = [("synonyms", m) for m in (2, 4, 8)]
    assert at == {
        (f"grammar:synonyms{m}:levels{levels}", 8 * 2**levels, (name, m), ("levels", levels))
        for name, m in names
        for levels in (1, 2)
    }
    assert verdict.verdict == "supported", verdict.note
    assert verdict.lo < 1 < verdict.hi
    # N*(.1) = log(8.75) / -log(1 - 1 / (8 m)), which is 17 m up to the second order.
    for m in (2, 4, 8):
        sizes = {row.n for row in rows if row.axes["synonyms"] == m}
        assert (min(sizes), max(sizes)) == (6 * m, 60 * m)
        one_level = [row for row in rows if row.axes == {"synonyms": m, "levels": 1}]
        for n in sizes:
            rates = [row.error_rate for row in one_level if row.n == n]
            expected = 7 / 8 * (1 - 1 / (8 * m)) ** n
            assert abs(np.mean(rates) - expected) < 0.1
