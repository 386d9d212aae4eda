"""docs/claims.md and the command that makes it: every claim tests a statement, and nothing is left out in silence."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bfc_bench.api import RunOptions, run_until_decided
from bfc_bench.errors import UsageError
from bfc_bench.store.row import Row
from bfc_bench.store.store import Store
from bfc_bench.stored_suite import open_store
from bfc_bench.suite.model import read_suite

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))  # last, so that the installed bfc_bench stays the one that is tested

from benchmarks import claims as claims_page  # noqa: E402

OUTSIDE = {"smoke", "representations-smoke", "representations-gpu", "images-smoke", "images-cifar", "tabular"}
"""Suites that repeat the claims of others in a small form, or on a GPU, or that are about no paper."""
SUITE = """
name = "tiny"
replicates = 3
seed = {seed}
[[task]]
name = "t"
inputs = {{ kind = "uniform" }}
target = {{ kind = "quadratic-densenet", widths = [2], alphas = [1.0] }}
d = [4]
n = [10]
[[learner]]
name = "kernel-ridge"
[[claim]]
id = "small"
source = "Theorem 1"
kind = "reaches"
label = "kernel-ridge"
task = "t"
at_most = 0.1
[[claim]]
id = "smaller"
source = "Theorem 2"
kind = "reaches"
label = "kernel-ridge"
task = "t"
at_most = 1e-9
sanity = true
"""
KNOWN = claims_page.Statements(
    statement=(
        claims_page.Statement(source="Theorem 1", says="small", claims=("tiny/small",)),
        claims_page.Statement(source="Theorem 2", says="smaller", claims=("tiny/smaller", "absent/one")),
        claims_page.Statement(source="Theorem 3", says="nothing", not_shown="nobody knows how"),
    ),
    remarks={"tiny/smaller": "Kernels are not that good."},
)


def test_every_claim_of_the_suites_tests_one_statement_and_every_statement_names_claims_that_exist():
    named = claims_page.read_statements().claims
    assert len(named) == len(set(named))
    suites = [read_suite(path) for path in (ROOT / "suites").glob("*.toml") if path.stem not in OUTSIDE]
    assert set(named) == {f"{suite.name}/{claim.id}" for suite in suites for claim in suite.claim}


def test_a_statement_has_claims_or_says_why_it_has_none():
    for wrong in ({"claims": ()}, {"claims": ("a/b",), "not_shown": "why"}):
        with pytest.raises(ValueError, match="claims or not_shown is required, and only one"):
            claims_page.Statement(source="s", says="x", **wrong)


@pytest.fixture
def stores(tmp_path):
    """Two stores of the suite ``tiny``, of seeds 0 and 1: an error of .01 in the one, of .01 and of 1 in the other."""
    made = []
    for seed, level in ((0, 0.01), (1, 1.0)):
        path = tmp_path / str(seed) / "tiny.toml"
        path.parent.mkdir()
        path.write_text(SUITE.format(seed=seed))
        with Store(path.parent, write=True) as store:
            store.sessions.begin("s", "tiny", 1, read_suite(path).definition(), {"packages": {}})
            store.sessions.define("tiny", 1, {"t": "x"}, {"kernel-ridge": "y"})
            rows = [
                Row(
                    cell=f"c{r}", suite="tiny", suite_version=1, task="t", learner="kernel-ridge", label="kernel-ridge",
                    options={}, d=4, n=10, replicate=r, status="ok", nmse=level * (1 + r / 10), fit_cpu_seconds=2.0,
                )
                for r in range(3)
            ]  # fmt: skip
            store.put([(row, "x", "y", "") for row in rows])
        made.append(open_store(path.parent))
    yield made
    for store in made:
        store.close()


def test_the_page_begins_with_what_is_not_supported_and_shows_every_seed(stores):
    text = claims_page.page(KNOWN, stores)
    assert text.index("## Contradicted") < text.index("## Undecided") < text.index("## Statement by statement")
    contradicted, _, disagree = (
        text[text.index(f"## {a}") : text.index(f"## {b}")]
        for a, b in (
            ("Contradicted", "Undecided"),
            ("Undecided", "Seeds disagree"),
            ("Seeds disagree", "Statement by statement"),
        )
    )
    assert "`tiny/smaller` (Theorem 2)" in contradicted
    assert "Kernels are not that good." in contradicted
    assert "tiny/small`" in disagree
    assert "| Theorem 1 | small | `tiny/small` ✓✗ |" in text
    assert "`absent/one` --" in text
    assert "none: nobody knows how" in text
    assert "| `smaller`, a sanity check | Theorem 2 | ≤ 1e-9 |" in text
    assert "Seed 0: 3 cells, 6 s of fitting, last on unknown, commit unknown; seed 1: 3 cells" in text
    assert "## absent\n\nNot run." in text


def test_what_a_mean_hides_stands_beside_it(stores, monkeypatch):
    said = type(stores[0]["tiny"]).claims
    monkeypatch.setattr(
        type(stores[0]["tiny"]), "claims", lambda suite: [replace(v, but="one fails") for v in said(suite)]
    )
    text = claims_page.page(KNOWN, stores[:1])
    but = text[text.index("## Supported, but") : text.index("## Statement by statement")]
    assert "`tiny/small` (Theorem 1)" in but
    assert "(but one fails)" in but
    assert re.search(r"✓ 0\.011 \[[^]]+\], worst 0\.012 \(but one fails\), R = 3 \|", text)


def test_suites_that_were_not_run_are_named_with_their_reason(stores):
    known = KNOWN.model_copy(update={"not_run": {"large": "needs a GPU"}})
    assert "## Suites that were not run\n\n- `large`: needs a GPU." in claims_page.page(known, stores)
    assert "not run\n\n-" not in claims_page.page(KNOWN, stores)


def test_every_suite_about_the_papers_is_on_the_page_or_said_not_to_be_run():
    known = claims_page.read_statements()
    repeats = {"smoke", "representations-smoke", "images-smoke", "tabular"}
    tables = {"bfc-algorithm-1-departures", "bfc-ranks", "bfc-recipes"}  # without claims, printed in the documentation
    all_suites = {path.stem for path in (ROOT / "suites").glob("*.toml")}
    assert all_suites - repeats - tables == set(known.suites) | set(known.not_run)


def test_looks_are_said_where_there_are_any(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(SUITE.format(seed=0))
    run_until_decided(path, RunOptions(store=tmp_path / "store", executor="serial"), last=4)
    with open_store(tmp_path / "store") as store:
        (small, _) = store["tiny"].claims()
        text = claims_page.page(KNOWN, [store])
    assert small.look
    assert claims_page.LOOKS in text
    assert f"R = {small.replicates} at {100 * small.confidence:.4g} %" in text


def test_a_store_that_is_not_there_is_named(tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        claims_page.main([str(tmp_path / "none")])
    assert left.value.code == 2
    assert "There is no store in" in capsys.readouterr().err


def test_a_remark_is_about_a_claim():
    with pytest.raises(ValueError, match="about claims of the statements"):
        claims_page.Statements(statement=KNOWN.statement, remarks={"a/b": "x"})


def test_a_suite_of_one_seed_in_two_stores_is_an_error(stores):
    with pytest.raises(UsageError, match="tiny of seed 0 must be in one store"):
        claims_page.page(KNOWN, [stores[0], stores[0]])
