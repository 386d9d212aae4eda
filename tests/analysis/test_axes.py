"""Exponents and slopes along an axis of a grid, from rows that follow a known law."""

import pytest
from claim_results import PLUGINS, cell, judge, spread

from bfc_bench.analysis.claims import Claim, Label, Labels, TaskName, parse_claims
from bfc_bench.analysis.claims.axes import resolve_grids
from bfc_bench.analysis.curves import curves
from bfc_bench.analysis.scaling import scalings
from bfc_bench.errors import UsageError
from bfc_bench.suite.model import Suite

SIZES = tuple(4 * 2**k for k in range(12))
TASK = {"name": "rhm", "inputs": {"kind": "sphere"}, "target": {"kind": "staircase"}, "d": [6], "n": list(SIZES)}
GRID = {"degree": [2, 3, 4, 6], "labels.L": [2, 3]}
NET = {"name": "mean", "label": "net", "grid": {"width": [1, 2, 4]}}


def suite(*claims):
    return Suite.parse(
        {
            "name": "s",
            "task": [{**TASK, "grid": GRID}],
            "learner": [{"name": "mean"}, {"name": "mean", "label": "slow"}, NET, {**NET, "label": "other"}],
            "claim": [{"id": f"c{i}", **claim} for i, claim in enumerate(claims)],
        },
        "s.toml",
    )


def error(label, axes, n):
    """N*(.1) is m^3 L for mean, m^4 L for slow, and m^3 / width for net: error = (.1 N* / n)."""
    m, depth = axes["degree"], axes["L"]
    powers = {"mean": m**3 * depth, "slow": m**4 * depth / 4}
    n_star = powers.get(label) or m**3 / axes["width"] ** (0.5 if label.startswith("other") else 1.0)
    return 0.1 * n_star / n


ENTRIES = suite()
ROWS = [
    cell(
        entry.label, r, error(entry.label, axes, n) * factor, task=task.name, d=6, n=n, axes=axes
    )
    for task in ENTRIES.task
    for entry in ENTRIES.learner
    for axes in [{**task.axes, **entry.axes}]
    for n in SIZES
    for r, factor in enumerate(spread(task.name + entry.label, sd=0.05))
]  # fmt: skip


def verdict(**claim):
    return judge(parse_claims(suite(claim), PLUGINS.claims, "s.toml"), ROWS)[0]


def refused(**claim):
    with pytest.raises(UsageError) as raised:
        verdict(**claim)
    return str(raised.value)


def test_n_star_grows_along_an_axis_with_the_power_that_the_rows_have():
    found = {(s.task, s.label): s for s in scalings(curves(ROWS), [0.1], "degree") if s.label in ("mean", "slow")}
    assert list(found) == [("rhm:L2", "mean"), ("rhm:L2", "slow"), ("rhm:L3", "mean"), ("rhm:L3", "slow")]
    mean = found["rhm:L3", "mean"]
    assert mean.measured_dims == (2, 3, 4, 6)
    assert mean.exponent.value == pytest.approx(3, abs=0.1)
    assert mean.exponent.lo < 3 < mean.exponent.hi
    assert mean.as_dict()["degree_first"] == 2
    assert (mean.as_dict()["axis"], mean.as_dict()["d"]) == ("degree", 6)
    width = next(s for s in scalings(curves(ROWS), [0.1], "width") if (s.task, s.label) == ("rhm:degree6:L2", "net"))
    assert width.exponent.value == pytest.approx(-1, abs=0.15)
    assert scalings(curves(ROWS), [0.1], "nothing") == []


def test_an_axis_of_texts_has_thresholds_and_no_exponent():
    rows = [cell(f"a:kind-{kind}", r, f / n, n=n, axes={"kind": kind})
            for kind in ("x", "y") for n in SIZES for r, f in enumerate(spread(kind))]  # fmt: skip
    (found,) = scalings(curves(rows), [0.1], "kind")
    assert (list(found.thresholds), "positive numbers" in found.exponent.refused) == (["x", "y"], True)


@pytest.mark.parametrize(("at_most", "word"), [(3.3, "supported"), (2.5, "contradicted")])
def test_an_exponent_along_an_axis_is_judged(at_most, word):
    found = verdict(kind="exponent", label="mean", task="rhm", at={"L": 3}, axis="degree", at_most=at_most)
    assert found.verdict == word
    assert found.statement == (
        f"The exponent in degree of the N* of mean for NMSE ≤ 0.1 is at most {at_most} (rhm:L3, d = 6)."
    )
    named = [f"rhm:degree{m}:L3" for m in (2, 3, 4, 6)]
    by_name = verdict(kind="exponent", label="mean", task=named, axis="degree", at_most=at_most)
    assert (by_name.estimate, by_name.lo, by_name.hi) == (found.estimate, found.lo, found.hi)


def test_two_exponents_along_an_axis_have_an_order():
    order = {"kind": "exponent", "task": "rhm", "at": {"L": 2}, "axis": "degree"}
    assert verdict(label="mean", below=["slow"], **order).verdict == "supported"
    assert verdict(label="slow", below=["mean"], **order).verdict == "contradicted"
    learners = {"kind": "exponent", "task": "rhm:degree6:L3", "axis": "width"}
    assert verdict(label="net", below=["other"], **learners).verdict == "supported"
    assert verdict(label="net", at_least=-0.7, **learners).verdict == "contradicted"


def test_the_error_has_a_slope_along_each_axis():
    along = {"kind": "slope", "task": "rhm", "label": "mean", "at": {"L": 3}, "axis": "degree"}
    found = verdict(at_least=2.5, at_most=3.5, **along)
    assert found.verdict == "supported"
    assert found.statement.startswith("The NMSE of mean scales with degree, 2 to 6, to a power of")
    assert "scales with p, 2 to 6," in verdict(at_least=2.5, against="p", **along).statement
    assert verdict(at_least=2.5, level=0.1, **along).verdict == "supported"
    width = {"kind": "slope", "task": "rhm", "label": "net", "at": {"L": 3, "degree": 2}, "axis": "width"}
    assert verdict(at_most=-0.5, **width).verdict == "supported"


def test_a_grid_where_one_member_is_meant_needs_at():
    beats = {"kind": "beats", "label": "mean", "against": "net", "task": "rhm"}
    assert verdict(at={"degree": 2, "L": 2, "width": 1}, factor=1.5, **beats).verdict == "contradicted"
    statement = verdict(at={"degree": 2, "L": 2}, **beats).statement
    assert all(f"net:width{w}" in statement for w in (1, 2, 4))  # a list of learners takes all members
    assert "task 'rhm' is a grid of 8; name a member, give at = { degree = 2, L = 2 }." in refused(**beats)
    assert "task 'rhm' is a grid of 4; name a member, give at = { degree = 2 }." in refused(at={"L": 3}, **beats)
    assert "no member of task 'rhm' has these values. It has L: 2, 3; degree: " in refused(
        at={"L": 5, "degree": 2}, **beats
    )
    assert "'l' is no axis of what the claim names" in refused(at={"l": 5}, **beats)
    exponent = {"kind": "exponent", "label": "mean", "task": "rhm", "at_most": 1}
    assert "or an axis, for example axis = 'degree'" in refused(**exponent)
    assert "the members differ in L too; fix that, for example at = { L = 2 }" in refused(axis="degree", **exponent)
    assert "axis = 'depth' is an axis neither of the task nor" in refused(axis="depth", **exponent)
    assert "sweep goes with an axis other than d" in refused(sweep=[{"task": "rhm:degree2:L2", "value": 1}] * 2, **{
        **exponent, "task": "rhm:degree2:L2"})  # fmt: skip


class Custom(Claim):
    """Fields as a plugin may call them."""

    where: TaskName
    student: Label
    teachers: Labels | None = None


def test_types_of_fields_say_which_of_them_name_grids():
    given = {"where": "rhm", "student": "net/step1", "teachers": "other", "at": {"degree": 2, "L": 3, "width": 4}}
    names = resolve_grids(given, suite(), Custom, "c").values()
    assert list(names) == ["rhm:degree2:L3", "net:width4/step1", ["other:width4"]]


def test_points_of_a_claim_along_an_axis_are_those_of_its_members():
    along = {"kind": "exponent", "label": "net", "task": "rhm:degree6:L3", "axis": "width", "at_most": 0}
    (claim,) = parse_claims(suite(along), PLUGINS.claims, "s.toml")
    assert claim.labels == ("net:width1", "net:width2", "net:width4")
    assert [(p.task, p.d, p.n) for p in claim.points(ROWS)] == [("rhm:degree6:L3", 6, None)]
    assert [point.value for point in claim.sweep] == [1, 2, 4]
