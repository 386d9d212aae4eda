"""One object for what a store holds of a suite: everything that verbs say of results, Python can say too."""

import json
import re

import pytest
from small_tasks import NOISY

import bfc_bench
from bfc_bench.errors import StoreError, UsageError
from bfc_bench.store import store as store_module
from bfc_bench.store.records import records_of

TASK = {**NOISY, "d": [3, 4], "n": [20, 40]}
CLAIM = {"id": "c", "kind": "beats", "task": "t", "d": 3, "n": 40, "label": "r", "against": "mean"}


@pytest.fixture
def ran(faulty, suite_file, tmp_path):
    learners = [{"name": "mean"}, {"name": "linear-ridge", "label": "r"}]
    path = suite_file(learner=learners, replicates=3, task=[TASK], claim=[CLAIM], levels=[0.9])
    bfc_bench.run_suite(path, bfc_bench.RunOptions(store=tmp_path / "store", executor="serial"))
    return path, tmp_path / "store"


@pytest.fixture
def stored(ran):
    path, store = ran
    with bfc_bench.open_store(store) as results:
        yield results[str(path)]


def test_an_open_store_is_a_mapping_of_suites_by_path_name_and_version(ran):
    path, store = ran
    with bfc_bench.open_store(store) as results:
        assert isinstance(results, bfc_bench.OpenStore)
        assert list(results) == ["tiny@1"]
        assert "tiny" in results
        assert "smoke" not in results  # a suite that was not run
        assert "no/such/suite.toml" not in results
        assert results.get("smoke") is None
        assert results.get("tiny").name == "tiny"
        assert isinstance(results["tiny"].claims(), bfc_bench.Records)
        found = [results[key] for key in (path, str(path), "tiny", "tiny@1")]
        assert {(suite.name, suite.version) for suite in found} == {("tiny", 1)}
        assert results.only().rows() == found[0].rows()
        with pytest.raises(KeyError, match=r"^The store in .* has no run of smoke@1; `bfc-bench run smoke` makes one"):
            results["smoke"]
        with pytest.raises(StoreError, match="no run of tiny@2; it holds tiny@1"):
            results["tiny@2"]
        with pytest.raises(bfc_bench.UnknownSuite, match=r"unknown suite 'smok'. Did you mean 'smoke'\? The store"):
            results["smok"]
        with pytest.raises(bfc_bench.UnknownSuite, match=r"^unknown suite 'zzzzz'\..* The store in .* holds tiny@1\.$"):
            results["zzzzz"]
        each = results.only().each()
        assert next(each) == results.only().rows()[0]  # others may read meanwhile


def test_it_says_what_the_verbs_say(ran, stored, printed):
    path, store = ran

    def said(*arguments):
        return json.loads(printed(*arguments, "--store", store))

    def as_json(records):
        return json.loads(records.frame().to_json(orient="records"))

    assert [row["cell"] for row in said("results", path, "--format", "json")] == [row.cell for row in stored.rows()]
    for verb, records in (
        (said("results", path, "--what", "claims", "--format", "json"), stored.claims()),
        (said("results", path, "--what", "n-star", "--format", "json"), stored.thresholds()),
        (said("results", path, "--what", "exponents", "--format", "json"), stored.exponents()),
        (said("compare", "mean", "r", "--format", "json"), stored.compare("mean", "r")),
    ):
        assert len(verb) == len(records) > 0
        for one, other in zip(verb, as_json(records), strict=True):
            assert {k: v for k, v in one.items() if isinstance(v, str | int)}.items() <= other.items()


def test_sessions_are_read_once_for_any_number_of_curves_and_again_after_a_run(ran, stored, monkeypatch):
    read = []
    monkeypatch.setattr(store_module, "records_of", lambda *asked: read.append(asked[1]) or records_of(*asked))
    assert len(stored.curves()) == 4
    for _ in range(2):
        assert stored.drawing().records
        assert (stored.levels, stored.labels, len(stored.sessions)) == ([0.9], ["mean", "r"], 1)
        stored.claims()
        stored.thresholds()
    assert read.count("sessions") == 1
    stored.sessions[0]["id"] = "another"
    options = bfc_bench.RunOptions(store=ran[1], executor="serial", changes=["levels=[0.5]"])
    session = bfc_bench.run_suite(ran[0], options)
    assert stored.levels == [0.5]
    assert [run["id"] for run in stored.sessions][1:] == [session.id]
    assert stored.sessions[0]["id"] != "another"
    assert read.count("sessions") == 2


def test_curves_thresholds_and_exponents_are_records(stored):
    assert {(curve.task, curve.d, curve.label) for curve in stored.curves()} == {
        ("t", d, label) for d in (3, 4) for label in ("mean", "r")
    }
    assert {(found.d, found.label, found.level) for found in stored.thresholds()} == {
        (d, label, 0.9) for d in (3, 4) for label in ("mean", "r")
    }
    assert {found.label for found in stored.exponents(levels=[0.5])} <= {"mean", "r"}
    assert {found.level for found in stored.thresholds(levels=[0.5, 0.1])} == {0.5, 0.1}
    assert stored.thresholds(0.5) == stored.thresholds([0.5])


def test_laws_and_costs_are_records(stored):
    laws = stored.scaling_laws()
    assert {(law.d, law.label) for law in laws} == {(d, label) for d in (3, 4) for label in ("mean", "r")}
    assert all("a law needs" in law.refused or "have a value" in law.refused for law in laws)
    assert stored.joint_law("d", labels=["r"]).refused
    assert "one positive number 'parameters'" in stored.joint_law("parameters", labels=["mean"], d=3).refused
    assert {(point.d, point.cost) for point in stored.frontier("fit_cpu_seconds")} <= {
        (d, "fit_cpu_seconds") for d in (3, 4)
    }
    assert {least.level for least in stored.least_costs("fit_cpu_seconds", levels=[0.5])} <= {0.5}
    with pytest.raises(UsageError, match="a cost must be one of"):
        stored.frontier("nmse")


def test_a_figure_shows_the_curves(stored):
    chart = stored.plot("t").to_dict()
    assert chart["facet"]["sort"] == ["d = 3", "d = 4"]
    assert chart["spec"]["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["mean", "r"]
    only = stored.drawing(learners=["r"], d=[4])
    assert (only.panels, only.labels, only.title) == (["d = 4"], ["r"], stored.name)
    assert {record["label"] for record in only.records if "label" in record} == {"r"}
    assert stored.drawing(kind="n-star", levels=[0.5]).panels == ["NMSE ≤ 0.5"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"task": "T"}, "figure: the results have no task 'T'. Known: t."),
        ({"learners": ["R"]}, "figure: the results have no label 'R'."),
        ({"d": [5]}, "figure: the results have no d '5'."),
        ({"kind": "features"}, "The results have nothing for a figure of kind 'features'"),
    ],
)
def test_a_figure_of_what_is_not_there_is_refused(stored, wrong, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        stored.plot(**wrong)


def test_a_report_is_written_where_it_is_asked_for(stored, tmp_path):
    page = stored.report(tmp_path / "out")
    assert page == tmp_path / "out" / "report.html"
    assert "tiny" in page.read_text()
    assert stored.report().parent == stored.directory


def test_a_report_of_a_task_is_beside_that_of_the_suite_and_does_not_count_as_it(stored, tmp_path):
    page = stored.report(tasks=["t"])
    assert page.parent == stored.directory / "tasks" / "t"
    assert not stored.is_shown_in(page.parent)
    with pytest.raises(UsageError, match=re.escape("report: the results have no task 'T'. Known: t.")):
        stored.report(tmp_path / "none", tasks=["T"])
    assert not (tmp_path / "none").exists()


def test_a_claim_added_to_the_file_is_judged_without_a_run(ran, suite_file):
    _, store = ran
    learners = [{"name": "mean"}, {"name": "linear-ridge", "label": "r"}]
    more = [CLAIM, {**CLAIM, "id": "later"}]
    path = suite_file(learner=learners, replicates=3, task=[TASK], claim=more, levels=[0.9])
    with bfc_bench.open_store(store) as results:
        assert [verdict.id for verdict in results[path].claims()] == ["c", "later"]
        assert [verdict.id for verdict in results["tiny"].claims()] == ["c"]  # as it was run
