"""Remarks on rows of several origins: none where this release made all rows in the same way."""

from importlib.metadata import version

import pytest

from bfc_bench.store.row import Row
from bfc_bench.store.row_origin import origin_remarks

HERE = version("bfc-bench")


def row(n, **values):
    where = {"release": HERE, "device": "cpu", "learner_version": "1", "d": 2, "status": "ok", "label": "l", **values}
    return Row(cell=f"c{n}", suite="s", suite_version=1, task="t", learner="l", options={}, n=n, replicate=0, **where)


def test_rows_of_this_release_on_one_device_need_no_remark():
    assert origin_remarks([row(1), row(2)]) == []
    assert origin_remarks([]) == []


@pytest.mark.parametrize("release", ["0.0.1", None])
def test_rows_of_another_release_are_counted(release):
    (line,) = origin_remarks([row(1, release=release), row(2, release=release)])
    assert line.startswith("2 cells made by ")
    assert release is None or release in line


def test_rows_of_two_origins_are_counted_most_first_and_their_curves_are_named():
    rows = [row(1), row(2), row(3, device="cuda"), row(4, d=3), row(5, label="m")]
    most, least, curves = origin_remarks(rows)
    assert most.startswith("4 cells made by")
    assert least.startswith("1 cell made by")
    assert "cuda" in least
    assert curves == "Curves of l with points of different origins: t (d = 2)."


def test_versions_of_a_learner_mix_curves_without_another_release():
    mixed = [row(n, d=d, learner_version=str(n % 2)) for n in (1, 2) for d in (2, 3)]
    assert origin_remarks(mixed) == ["Curves of l with points of different origins: t (d = 2, 3)."]


def test_skipped_rows_have_no_origin():
    assert origin_remarks([row(1), row(2, status="skipped", release=None, device=None)]) == []
