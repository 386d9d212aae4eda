"""Comparison of two rows of a cell: the tolerance is for rows that were both made on GPUs."""

from dataclasses import replace

import pytest

from bfc_bench.store.equality import GPU_FLOOR, GPU_TOLERANCE, differing, exactly_differing
from bfc_bench.store.row import Row

ROW = Row(cell="c0", suite="s", suite_version=1, task="t", learner="l", label="l", options={"a": 1}, d=2, n=3,
          replicate=0, status="ok", nmse=0.5, device="cuda", error_rate=0.2,
          chosen={"info": {"count": 10**6, "share": 0.3}})  # fmt: skip


def difference(change, compare=differing, one=ROW):
    return compare(one.as_dict(), replace(one, **change).as_dict())


@pytest.mark.parametrize(("one", "other"), [("cuda", "cpu"), ("cpu", "cuda"), ("cpu", "cpu")])
def test_two_rows_of_which_one_was_made_on_a_cpu_are_compared_bit_for_bit_in_every_column(one, other):
    changed = difference({"device": other, "nmse": 0.5 * (1 + 1e-9), "error_rate": 0.21}, one=replace(ROW, device=one))
    assert changed == ["device"] * (one != other) + ["error_rate", "nmse"]


def test_the_tolerance_is_relative_to_the_larger_number_with_a_floor_for_rounding_errors():
    larger = 0.5 / (1 - GPU_TOLERANCE)
    assert difference({"nmse": larger}) == []
    assert difference({"nmse": larger * (1 + 1e-6)}) == ["nmse"]
    assert difference({"nmse": larger}, exactly_differing) == ["nmse"]
    tiny = replace(ROW, nmse=1e-15)
    assert difference({"nmse": 1e-15 + 0.99 * GPU_FLOOR}, one=tiny) == []
    assert difference({"nmse": 1e-15 + 1.03 * GPU_FLOOR}, one=tiny) == ["nmse"]


def test_the_tolerance_for_gpus_is_one_percent_and_a_billionth():
    assert (GPU_TOLERANCE, GPU_FLOOR) == (1e-2, 1e-9)  # verdicts on published rows depend on them


def test_the_order_of_names_is_no_difference():
    one = replace(ROW, options={"a": 1, "b": 2}, device="cpu")
    assert difference({"options": {"b": 2, "a": 1}}, one=one) == []


@pytest.mark.parametrize(("change", "expected"), [({"share": 0.3001}, []), ({"count": 10**6 + 1}, ["chosen"])])
def test_counts_have_no_tolerance(change, expected):
    assert difference({"chosen": {"info": {**ROW.chosen["info"], **change}}}) == expected
