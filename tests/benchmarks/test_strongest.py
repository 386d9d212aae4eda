"""What the strongest opponent leaves of a claim about N*."""

import pytest

from benchmarks import strongest
from bfc_bench.report.tables import with_interval
from bfc_bench.store.row import Row
from bfc_bench.store.store import Store
from bfc_bench.stored_suite import open_store
from bfc_bench.suite.model import read_suite

SIZES = (50, 100, 200, 400)
SUITE = """
name = "opponents"
replicates = 4
[[task]]
name = "t"
inputs = { kind = "uniform" }
target = { kind = "quadratic-densenet", widths = [2], alphas = [1.0] }
d = [4]
n = [50, 100, 200, 400]
[[learner]]
name = "kernel-ridge"
label = "ours"
[[learner]]
name = "kernel-ridge"
label = "a"
[[learner]]
name = "kernel-ridge"
label = "b"
[[claim]]
id = "fewer"
source = "s"
kind = "beats"
label = "ours"
against = ["a", "b"]
task = "t"
level = 0.1
[[claim]]
id = "fewer-than-a"
source = "s"
kind = "beats"
label = "ours"
against = "a"
task = "t"
level = 0.1
[[claim]]
id = "lower"
source = "s"
kind = "beats"
label = "ours"
against = "a"
task = "t"
n = 400
"""


def table(folder, **reached):
    """The script's table of claims, from a store whose learners have an error above .1 below the given sizes."""
    path = folder / "opponents.toml"
    path.write_text(SUITE)
    rows = [
        Row(
            cell=f"{label}{r}{n}", suite="opponents", suite_version=1, task="t", learner="kernel-ridge", label=label,
            options={}, d=4, n=n, replicate=r, status="ok", nmse=0.11 if n < size else 0.01, fit_cpu_seconds=2.0,
            chosen={"candidates": 20} if label == "a" else {}, release="0.1.0", provenance="s0",
        )
        for label, sizes in reached.items() for r, size in enumerate(sizes) for n in SIZES
    ]  # fmt: skip
    with Store(folder, write=True) as store:
        store.sessions.begin("s0", "opponents", 1, read_suite(path).definition(), {"packages": {}})
        store.sessions.define("opponents", 1, {"t": "x"}, dict.fromkeys(reached, "y"))
        store.put([(row, "x", "y", "") for row in rows])
    with open_store(folder) as store:
        stored = store["opponents"]
        return list(strongest.tables([stored])), {verdict.id: verdict for verdict in stored.claims()}


@pytest.mark.parametrize(
    ("a", "b", "other"),
    [
        ((400, 400, 400, 400), (200, 200, 200, 200), "b"),
        ((200, 200, 200, 200), (400, 400, 400, 400), "a"),
        ((999, 999, 999, 999), (400, 400, 400, 400), "b"),
    ],
)
def test_a_claim_is_shown_with_its_own_verdict_and_the_opponent_that_comes_nearest(tmp_path, a, b, other):
    (claims, costs), verdicts = table(tmp_path, ours=(100, 100, 100, 100), a=a, b=b)
    assert claims.startswith("| claim | task | d | NMSE | seed 0 |")
    lines = [line.strip("| ").split(" | ") for line in claims.splitlines()[2:]]
    assert [line[0] for line in lines] == ["fewer", "fewer-than-a"]  # the claim about errors compares no N*
    *about, found = lines[0]
    assert about == ["fewer", "t", "4", "0.1"]
    verdict = verdicts["fewer"]
    assert found.startswith(f"{verdict.sign} {with_interval(verdict.estimate, verdict.lo, verdict.hi)}: ours ")
    assert f"; {other} " in found
    assert "| t | a | 20 | 16 | 32 |" in costs
    assert "| t | ours | 1 | 16 | 32 |" in costs


def test_the_interval_allows_for_the_choice_of_the_nearest_opponent(tmp_path):
    sizes = {"ours": (100, 100, 100, 200), "a": (200, 400, 200, 200), "b": (400, 200, 400, 400)}
    (claims, _), verdicts = table(tmp_path, **sizes)
    several, one = (verdicts[name] for name in ("fewer", "fewer-than-a"))
    assert several.estimate == one.estimate
    assert several.lo < one.lo
    for verdict, line in zip((several, one), claims.splitlines()[2:], strict=True):
        assert with_interval(verdict.estimate, verdict.lo, verdict.hi) in line


def test_a_store_without_the_suite_is_one_line(tmp_path, capsys):
    table(tmp_path, ours=(100,), a=(200,), b=(200,))
    with pytest.raises(SystemExit, match="2"):
        strongest.main(["--suite", "border", str(tmp_path)])
    assert "border" in capsys.readouterr().err.splitlines()[-1]
