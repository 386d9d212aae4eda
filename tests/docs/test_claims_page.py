"""docs/claims.md and the command that makes it: every claim tests a statement, and nothing is left out in silence."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from small_tasks import SMALL, write_suite
from stored_rows import hold
from synthetic import row

from benchmarks import claims as claims_page
from bfc_bench.errors import UsageError
from bfc_bench.stored_suite import open_store
from bfc_bench.suite.read import read_suite

ROOT = Path(__file__).parents[2]


OUTSIDE = {"representations-gpu", "images-cifar", "tabular"}
"""Suites that repeat the claims of others on a GPU or in full size, or that are about no paper. Those that repeat them
in a small form are called ``smoke``."""
REACHES = {"kind": "reaches", "label": "kernel-ridge", "task": "t"}
CLAIMS = [
    {"id": "small", "source": "Theorem 1", "at_most": 0.1, **REACHES},
    {"id": "smaller", "source": "Theorem 2", "at_most": 1e-9, "sanity": True, **REACHES},
]
KNOWN = claims_page.Statements(
    statement=(
        claims_page.Statement(source="Theorem 1", says="small", claims=("tiny/small",)),
        claims_page.Statement(source="Theorem 2", says="smaller", claims=("tiny/smaller", "absent/one")),
        claims_page.Statement(source="Theorem 3", says="nothing", not_shown="nobody knows how"),
    ),
    remark=(
        claims_page.Remark(claims=("tiny/small",), says="It is large.", means="outside its conditions: n is small"),
        claims_page.Remark(
            claims=("tiny/smaller",), says="It is not.", means="our own expectation: no theorem says it"
        ),
    ),
)


def test_every_claim_of_the_suites_tests_one_statement_and_every_statement_names_claims_that_exist():
    named = claims_page.read_statements().claims
    assert len(named) == len(set(named))
    suites = [read_suite(path) for path in (ROOT / "suites").glob("*.toml")]
    suites = [suite for suite in suites if suite.name not in OUTSIDE and "smoke" not in suite.name]
    assert set(named) == {f"{suite.name}/{claim.id}" for suite in suites for claim in suite.claim}


def test_a_statement_has_claims_or_says_why_it_has_none():
    for wrong in ({"claims": ()}, {"claims": ("a/b",), "not_shown": "why"}):
        with pytest.raises(ValueError, match="claims or not_shown is required, and only one"):
            claims_page.Statement(source="s", says="x", **wrong)


def fill(folder, seed, level):
    """A store of the suite ``tiny`` with errors from ``level`` up."""
    folder.mkdir()
    task, learner = {**SMALL, "n": [10]}, {"name": "kernel-ridge"}
    path = write_suite(folder, replicates=3, seed=seed, task=[task], learner=[learner], claim=CLAIMS)
    at = {"suite": "tiny", "task": "t", "label": "kernel-ridge", "d": 4, "n": 10, "provenance": "session-tiny"}
    rows = [row(**at, replicate=r, nmse=level * (1 + r / 10)) for r in range(3)]
    return hold(folder, path, rows, processor="a processor")


@pytest.fixture
def stores(tmp_path):
    """Two stores of the suite ``tiny``, of seeds 0 and 1: an error of .01 in the one and of 1 in the other."""
    made = [open_store(fill(tmp_path / str(seed), seed, level)) for seed, level in ((0, 0.01), (1, 1.0))]
    yield made
    for store in made:
        store.close()


def page(known, stores):
    return claims_page.page(known, claims_page.seeds_of(known, stores))


def section(text, title):
    return re.split(r"^## ", text[text.index(f"## {title}\n") + 3 :], maxsplit=1, flags=re.MULTILINE)[0]


def test_the_page_begins_with_questions_and_answers_and_then_has_every_statement(stores):
    asked = KNOWN.statement[0].model_copy(update={"question": "Is it small?", "answer": "It is {tiny/small}."})
    text = page(KNOWN.model_copy(update={"statement": (asked, *KNOWN.statement[1:])}), stores)
    start = text.split("\n## ")[0]
    assert start.startswith(
        "# What the suites found\n\n2 claims test 2 statements, on seeds 0 and 1: **0 supported, 1 cont"
    )
    assert "0 undecided on every seed that ran them**, 0 decided on some seeds only, 1 with opposite verdicts" in start
    assert "Sanity checks among them: 1. What the [contradicted](#contradicted) ones mean: 0 refutes" in start
    assert " 0 outside its conditions, 1 our own expectation." in start
    assert "| Is it small? | 1✓ | 1✗ | It is 0.011 / 1.1. |" in start
    each = section(text, "Statement by statement")
    assert "Theorem 3" not in each
    assert "| **Theorem 1**: small | 1✓ | 1✗ |  |" in each
    assert "| **Theorem 2**: smaller | 1✗, 1 not run | 1✗, 1 not run |  |" in each
    assert "- `tiny/smaller` (≤ 1e-9: ✗ 0.011 / ✗ 1.1): *our own expectation: no theorem says it.* It is not." in text
    assert "- `tiny/small` (≤ 0.1: ✓ 0.011 / ✗ 1.1): *outside its conditions: n is small.* It is large." in text
    assert "None." in section(text, "Undecided")


def test_what_would_decide_an_undecided_claim_is_in_the_table_and_a_remark_on_the_page(tmp_path):
    folder = fill(tmp_path / "store", 0, 0.095)
    remark = claims_page.Remark(claims=("tiny/small",), says="The error is that of the bound.")
    known = KNOWN.model_copy(update={"remark": (remark, KNOWN.remark[1])})
    with open_store(folder) as store:
        left = section(page(known, [store]), "Undecided")
        lines = csv.DictReader(io.StringIO(claims_page.table(KNOWN, claims_page.seeds_of(KNOWN, [store]))))
        needed = {line["id"]: line["needed"] for line in lines}
    assert "1 of `tiny`." in left
    assert "- `tiny/small` (≤ 0.1: ? 0.10): The error is that of the bound." in left
    assert re.fullmatch(r"\d+ replicates would decide it at the spread seen", needed["small"])
    assert needed["smaller"] == ""


def test_every_claim_of_every_seed_is_a_line_of_the_table(stores):
    lines = list(csv.DictReader(io.StringIO(claims_page.table(KNOWN, claims_page.seeds_of(KNOWN, stores)))))
    found = ", ".join(f"{line['id']} {line['seed']} {line['verdict']}" for line in lines)
    assert found == "small 0 supported, small 1 contradicted, smaller 0 contradicted, smaller 1 contradicted"
    small, smaller = (remark.means for remark in KNOWN.remark)
    assert [line["means"] for line in lines] == ["", small, smaller, smaller]


def test_the_number_of_wrong_verdicts_is_bounded_without_sanity_checks(stores):
    text = page(KNOWN, stores)
    assert "Sanity checks aside, the seeds have 2 verdicts, and 2 of them are decided." in text
    assert "at most 0.05 are expected to be wrong" in text  # 2 x .025
    assert "at most 0.00063 of 1 claims are expected to be wrong on every seed" in text  # .025^2 = .000625
    assert "share no teachers" not in page(KNOWN, stores[:1])


def test_decided_together_p_is_adjusted_for_the_suites_of_a_seed_or_for_all_verdicts(stores, monkeypatch):
    suite = type(stores[0]["tiny"])
    said = suite.claims
    monkeypatch.setattr(suite, "claims", lambda self: [replace(v, p=0.03, holm_p=0.03) for v in said(self)])
    together = r"method, {} verdicts remain if all are one family.* {} if each suite"
    assert re.search(together.format(0, 2), page(KNOWN, stores))
    assert re.search(together.format(1, 1), page(KNOWN, stores[:1]))


def test_every_suite_about_the_papers_is_on_the_page_or_said_not_to_be_run():
    known = claims_page.read_statements()
    tables = {"bfc-algorithm-1-departures", "bfc-ranks", "bfc-recipes"}  # without claims, printed in the documentation
    all_suites = {path.stem for path in (ROOT / "suites").glob("*.toml") if "smoke" not in path.stem}
    assert all_suites - {"tabular"} - tables == set(known.suites) | set(known.not_run)


def test_a_suite_in_two_stores_and_a_contradiction_whose_meaning_is_not_one_of_three_are_errors(stores):
    with pytest.raises(UsageError, match="tiny of seed 0 must be in one store"):
        page(KNOWN, [stores[0], stores[0]])
    with pytest.raises(UsageError, match="what the contradiction of tiny/small means"):
        page(KNOWN.model_copy(update={"remark": KNOWN.remark[1:]}), stores)
    with pytest.raises(ValueError, match="means"):
        claims_page.Remark(claims=("tiny/small",), says="It is large.", means="a bad day: it rained")
