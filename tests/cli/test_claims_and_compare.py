"""The verbs ``claims`` and ``compare``, and where else verdicts appear: report, MLflow, Python."""

import json
import re

import numpy as np
import pytest
from small_tasks import SMALL
from stored_rows import hold, judge_claims
from synthetic import row

from bfc_bench import RunOptions, run_suite
from bfc_bench.analysis.intervals import holm
from bfc_bench.cli.run import _next_commands
from bfc_bench.errors import UsageError
from bfc_bench.report.tables import with_interval
from bfc_bench.seeds import stream
from bfc_bench.stored_suite import open_store

LABELS = {"joint": 1e-6, "kernel": 0.1, "twin": 0.1}
LEARNERS = [{"name": "kernel-ridge", "label": label} for label in LABELS]
CLAIM = {"id": "separation", "source": "Theorem 1", "kind": "beats", "label": "joint", "task": "t"}
CLAIMS = [
    {**CLAIM, "against": ["kernel", "twin"], "factor": 100},
    {"id": "reverse", "kind": "beats", "label": "kernel", "against": "joint", "task": "t"},
    {"id": "equal", "kind": "unchanged", "before": "kernel", "after": "twin", "task": "t", "tolerance": 0.001},
]


@pytest.fixture
def held(suite_file, tmp_path):
    """A suite file, and a store that holds its results: three learners, four replicates at n = 10 and 20."""

    def make(claims=tuple(CLAIMS), name="tiny", learners=LEARNERS, failed=""):
        path = suite_file(name, learner=learners, replicates=4, claim=list(claims))
        rows = [
            row(
                suite=name, task="t", label=label, d=4, n=n, replicate=r,
                nmse=float(level * np.exp(stream("verbs", label, n, r).standard_normal() / 5)), finished_at=1.7e9 + n,
                part_errors={"degree2": float(level + stream("parts", label, n, r).standard_normal() / 100)},
                status="failed" if label == failed else "ok",
            )
            for label, level in LABELS.items() for n in (10, 20) for r in range(4)
        ]  # fmt: skip
        return path, hold(tmp_path / "store", path, rows)

    return make


def exported(printed, path, store):
    return json.loads(printed("results", path, "--store", store, "--what", "claims", "--format", "json"))


def test_verdicts_are_exported_with_their_numbers(held, printed):
    path, store = held()
    found = exported(printed, path, store)
    assert [(v["id"], v["verdict"]) for v in found] == [
        ("separation", "supported"),
        ("reverse", "contradicted"),
        ("equal", "undecided"),
    ]
    separation = found[0]
    assert separation["hi"] < 0.01
    assert separation["estimate"] == pytest.approx(1e-5, rel=0.5)
    assert separation["p"] <= separation["holm_p"] <= 0.05
    assert separation["statement"] == (
        "The NMSE of joint is at most 1/100 of that of each of kernel and twin (t, d = 4, n = 20)."
    )


def test_a_claim_has_one_line_and_its_words_if_it_is_named(held, printed, refused):
    path, store = held()
    text = printed("claims", path, "--store", store)
    _, *lines = text.splitlines()
    assert [line.split()[:3] for line in lines[:3]] == [
        ["✓", "supported", "separation"],
        ["✗", "contradicted", "reverse"],
        ["?", "undecided", "equal"],
    ]
    assert "≤ 0.01" in lines[0]
    assert lines[3].startswith("3 claims: 1 supported, 1 contradicted, 1 undecided.")
    assert "of 3 expect up to .05 x 3 = 0.15 to be wrong" in text
    unseen = "With 4 replicates, the fewest behind a verdict, a failure of up to 55 % of replicates can go unseen."
    assert unseen in text  # 1 - .04^(1/4)
    named = printed("claims", path, "separation", "--store", store)
    for shown in (
        "The NMSE of joint is at most 1/100 of that of each of kernel",
        "Theorem 1",
        "4 replicates, p ",
        "Holm p",
    ):
        assert shown in named
    assert "reverse" not in named
    assert "no claim 'revers'. Did you mean 'reverse'?" in refused("claims", path, "revers", "--store", store)


def test_claims_of_a_family_are_decided_together(held, printed):
    """A claim that is clear by itself (p = .02) is not among 40 whose p is large."""
    claims = [{"id": f"c{k}", "kind": "reaches", "label": "kernel", "task": "t", "at_most": 0.1} for k in range(40)]
    clear = {"id": "clear", "kind": "beats", "label": "joint", "against": "kernel", "task": "t"}
    near = {"id": "near", "kind": "reaches", "label": "twin", "task": "t", "at_most": 0.143}
    path, store = held(claims=(clear, near, *claims))
    with open_store(store) as suites:
        alone, together = ({v.id: v.as_dict() for v in suites[path].claims(family)} for family in (False, True))
    assert alone["near"]["p"] < 0.05 < alone["near"]["holm_p"]
    assert [alone[name]["verdict"] for name in ("clear", "near")] == ["supported", "supported"]
    assert [together[name]["verdict"] for name in ("clear", "near")] == ["supported", "undecided"]
    assert together["near"]["note"].startswith("supported by itself, but not together with the other claims: Holm p =")
    assert [v["holm_p"] for v in together.values()] == [v["holm_p"] for v in alone.values()]
    text = printed("claims", path, "--store", store, "--family")
    assert "Holm p decides: with a probability of at least .95, none of the verdicts on 42 claims is wrong" in text


def test_a_new_claim_is_judged_without_a_new_run(held, suite_file, printed):
    path, store = held(claims=())
    assert "declares no claim" in printed("claims", path, "--store", store)
    assert exported(printed, path, store) == []
    path = suite_file("tiny", learner=LEARNERS, replicates=4, claim=CLAIMS[:1])
    assert "✓ supported" in printed("claims", path, "--store", store)


def test_a_suite_whose_file_is_gone_is_judged_by_the_claims_it_ran_with(held, printed):
    path, store = held()
    path.unlink()
    assert "✗ contradicted" in printed("claims", "tiny", "--store", store)


def test_a_wrong_claim_stops_every_verb_with_exit_code_2(suite_file, held, refused):
    _, store = held()
    path = suite_file("tiny", learner=LEARNERS, claim=[{**CLAIMS[0], "against": "kernle"}])
    message = "tiny.toml: claim 'separation': unknown learner label 'kernle'. Did you mean 'kernel'?"
    for verb in ("plan", "run", "claims", "report"):
        assert message in refused(verb, path, "--store", store)


def test_compare_gives_a_test_per_size_and_calls_no_difference_without_evidence(held, printed):
    _, store = held()
    found = json.loads(printed("compare", "joint", "kernel", "--store", store, "--format", "json"))
    assert [(r["task"], r["d"], r["n"], r["pairs"], r["verdict"]) for r in found] == [
        ("t", 4, 10, 4, "joint lower"),
        ("t", 4, 20, 4, "joint lower"),
    ]
    assert all(r["lo"] < r["ratio"] < r["hi"] < 1e-4 for r in found)
    text = printed("compare", "kernel", "twin", "--store", store)
    assert text.count("no difference shown") == 2
    assert "kernel / twin [95 %]" in text


def test_a_run_advises_to_compare_the_first_two_of_the_suite_that_have_results(held, printed):
    path, store = held(learners=LEARNERS[::-1], failed="twin")
    with open_store(store) as suites:
        advised = _next_commands(suites[path], str(path), [])[-1]
    assert advised.split() == ["bfc-bench", "compare", "kernel", "joint", "--suite", str(path), "--store", str(store)]
    printed(*advised.split()[1:])


def test_a_run_of_another_version_than_that_of_the_file_names_its_own(suite_file, tmp_path, monkeypatch, printed):
    monkeypatch.chdir(tmp_path)
    path, options = suite_file(learner=[{"name": "kernel-ridge"}]), ["--store", "s", "--executor", "serial"]
    assert f"bfc-bench results {path} " in printed("run", path, *options)
    said = printed("run", path, *options, "--set", "version=7")
    command = next(line for line in said.splitlines() if "bfc-bench results tiny@7 " in line)
    printed(*command.split()[1:])


def test_a_report_of_a_task_prints_its_results_alone(suite_file, tmp_path, printed):
    tasks = [{**SMALL, "name": name} for name in ("one", "two")]
    path, store = suite_file(task=tasks, learner=[{"name": "kernel-ridge"}]), tmp_path / "s"
    run_suite(path, RunOptions(store=store, executor="serial"))
    said = printed("report", path, "--store", store, "--task", "one")
    assert ("one, d = 4" in said, "two, d = 4" in said) == (True, False)


def test_a_run_that_skips_all_cells_says_why(suite_file, tmp_path, printed):
    path = suite_file(learner=[{"name": "kernel-ridge", "label": "a"}], budget={"memory_gb": 1e-4})
    text = printed("run", path, "--executor", "serial", "--store", tmp_path / "skips")
    assert re.search(r"^skipped 2: .* GB", text, re.M)
    assert "n = None" not in text


def test_compare_needs_the_suite_where_the_store_holds_several(held, printed, refused):
    held()
    path, store = held(name="other")
    assert "Name one of them." in refused("compare", "joint", "kernel", "--store", store)
    assert "joint lower" in printed("compare", "joint", "kernel", "--suite", path, "--store", store)


def test_the_sample_sizes_of_two_learners_are_compared_without_a_claim(held, printed):
    claim = {"id": "n", "kind": "beats", "label": "joint", "against": "kernel", "task": "t", "level": 0.01}
    path, store = held(claims=[claim])
    arguments = ("compare", "joint", "kernel", "--suite", path, "--level", "0.01", "--store", store)
    (found,) = json.loads(printed(*arguments, "--format", "json"))
    (verdict,) = judge_claims(path, store=store)
    bounds = [found[name] for name in ("a_lo", "a_hi", "b_lo", "b_hi")]
    assert bounds == [0, pytest.approx(10), pytest.approx(20), None]
    assert found["ratio"] == pytest.approx(verdict.estimate)
    text = printed(*arguments)
    for shown in ("N* of joint", "≤10", ">20", "0.50"):
        assert shown in text
    with open_store(store) as suites:
        assert suites["tiny"].compare_thresholds("joint", "kernel", levels=[0.01])[0].verdict == found["verdict"]


def test_the_factors_between_all_learners_are_a_table_by_n_star(suite_file, tmp_path, printed, refused):
    """Errors c / n: N*(.1) is 10 c, and each factor is what the comparison of the two alone gives."""
    path = suite_file("tiny", learner=[{"name": "kernel-ridge", "label": name} for name in ("slow", "never", "fast")])
    rows = [
        row(suite="tiny", task="t", label=name, d=4, n=n, replicate=r, nmse=c / n * (1 + r * n % 7 / 50))
        for name, c in (("slow", 8), ("never", 100), ("fast", 2))
        for n in (10, 20, 40, 80, 160)
        for r in range(4)
    ]
    command = ("compare", "--level", "0.1", "--store", hold(tmp_path / "store", path, rows))
    head, *lines = (
        [cell.strip() for cell in line.split("  ") if cell] for line in printed(*command).splitlines()[1:-1]
    )
    assert head == ["learner", "N*", "/ fast", "/ slow"]
    assert [(line[0], len(line)) for line in lines] == [("fast", 2), ("slow", 3), ("never", 4)]
    with open_store(tmp_path / "store") as suites:
        alone, found = (suites["tiny"].compare_thresholds(*of, levels=0.1) for of in (["slow", "fast"], []))
    assert lines[1][2] == f"{with_interval(alone[0].ratio, alone[0].lo, alone[0].hi)}*"
    assert re.fullmatch(r"7\.\d \[6\.\d, ∞\]\*", lines[2][2])
    assert [c.holm_p for c in found] == holm([c.p for c in found])
    assert "two labels, or more or none" in refused("compare", "slow", "--store", tmp_path / "store")


@pytest.mark.parametrize("verb", ["compare", "compare_thresholds"])
def test_python_names_what_is_wrong_as_the_command_line_does(held, verb):
    _, store = held()
    with open_store(store) as suites:
        compare = getattr(suites["tiny"], verb)
        for arguments, options, text in (
            (("joint", "kernal"), {}, "no label 'kernal'. Did you mean 'kernel'?"),
            (("joint", "joint"), {}, "labels must differ"),
            (("joint", "kernel"), {"tasks": ["tt"]}, "no task 'tt'. Did you mean 't'?"),
            (("joint", "kernel"), {"dims": [5]}, "no d '5'. Known: 4."),
            (("joint/layer2", "kernel"), {}, "nmse at the same task"),
        ):
            with pytest.raises(UsageError, match=re.escape(text)):
                compare(*arguments, **options)
        with pytest.raises(UsageError, match="no curve has an axis 'width'"):
            suites["tiny"].exponents(axis="width")
