"""The simulation of runs on many machines: what has a closed form, and what must hold whatever is lost."""

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bfc_bench.plugins import load_plugins
from bfc_bench.run.grid import resolve
from bfc_bench.run.plan import Plan
from bfc_bench.run.session import plan_for
from bfc_bench.seeds import stream
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows
from bfc_bench.suite.find import suite_path
from bfc_bench.suite.model import read_suite

sys.path.append(str(Path(__file__).parents[2]))  # last, so that the installed bfc_bench stays the one that is tested

from benchmarks import machines
from benchmarks.cluster import Costs, Mode, Shape, Unit, leaves, simulate
from benchmarks.cluster_units import Surprise, actual_seconds, session_units, shard_units

MODES: tuple[Mode, ...] = ("ray", "slurm")
COSTS = Costs(start=3.0, place=0.01, look=1e-4, dispatch=2e-3, commit=1e-4, row=3e-4, sync=1e-3)


def mixed(count: int = 200) -> list[Unit]:
    """Units of 1 to 60 s and of 1 to 20 rows, longest first."""
    rng = stream("units of a test")
    seconds = sorted(rng.uniform(1.0, 60.0, count).tolist(), reverse=True)
    return [Unit(s, int(rows)) for s, rows in zip(seconds, rng.integers(1, 21, count), strict=True)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("count", "machines", "slots"), [(1, 3, 2), (4, 2, 2), (10, 2, 2), (12, 3, 4), (1000, 7, 16)])
def test_equal_units_without_costs_take_rounds(mode: Mode, count: int, machines: int, slots: int) -> None:
    result = simulate([Unit(2.5)] * count, Costs(), Shape(machines, slots, mode))
    assert result.makespan == pytest.approx(2.5 * math.ceil(count / (machines * slots)))


def test_on_one_slot_the_makespan_is_the_sum() -> None:
    units = mixed(50)
    result = simulate(units, Costs(start=3.0), Shape(1, 1))
    assert result.makespan == pytest.approx(3.0 + sum(unit.seconds for unit in units))


def test_where_units_take_no_time_the_driver_is_all_there_is() -> None:
    result = simulate([Unit(0.0)] * 500, Costs(dispatch=0.01), Shape(100, 16))
    assert result.makespan == pytest.approx(500 * 0.01)
    assert result.driving == pytest.approx(500 * 0.01)


def test_where_units_take_no_time_the_writer_is_all_there_is() -> None:
    result = simulate([Unit(0.0, 4)] * 500, Costs(commit=2e-3, row=1e-3), Shape(100, 16))
    assert result.makespan == pytest.approx(500 * (2e-3 + 4 * 1e-3))
    assert result.writing == pytest.approx(result.makespan)


def test_slots_are_started_one_after_another() -> None:
    result = simulate([Unit(100.0)] * 64, Costs(start=5.0, place=0.5), Shape(4, 16))
    assert result.placing == pytest.approx(64 * 0.5)
    assert result.makespan == pytest.approx(64 * 0.5 + 5.0 + 100.0)


def test_no_unit_waits_behind_another_while_a_slot_for_it_starts() -> None:
    result = simulate([Unit(100.0)] * 64, Costs(start=5.0, place=0.01), Shape(4, 16))
    assert result.makespan == pytest.approx(64 * 0.01 + 5.0 + 100.0)


def test_the_disk_that_shards_share_takes_unit_after_unit() -> None:
    result = simulate([Unit(0.0, 3)] * 500, Costs(sync=0.01), Shape(100, 4, "slurm"))
    assert result.makespan == pytest.approx(500 * 0.01)


@pytest.mark.parametrize("mode", MODES)
def test_no_bound_is_beaten(mode: Mode) -> None:
    units = mixed()
    for count in (1, 5, 50, 500):
        result = simulate(units, COSTS, Shape(count, 4, mode, losses_per_hour=60, stragglers=0.1, slowdown=3))
        assert result.makespan >= COSTS.start + max(unit.seconds for unit in units)
        assert result.makespan >= sum(unit.seconds for unit in units) / (4 * count)
        assert result.makespan >= sum(unit.rows for unit in units) * COSTS.row
        assert result.makespan >= result.placing + result.driving


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rate", [0.0, 100.0, 1000.0, 3000.0])
@pytest.mark.parametrize("seed", range(2))
def test_every_unit_ends_exactly_once(mode: Mode, rate: float, seed: int) -> None:
    units = mixed()
    shape = Shape(5, 4, mode, losses_per_hour=rate, notice=5.0, absence=30.0, stragglers=0.1, slowdown=3.0, seed=seed)
    result = simulate(units, COSTS, shape)
    assert {unit.ended for unit in leaves(result.units)} == {1}
    assert sum(unit.rows for unit in leaves(result.units)) == sum(unit.rows for unit in units)
    assert {unit.ended for unit in result.units if unit.parts} <= {0}
    assert result.lost > 0 or rate < 100
    assert result.lost == 0 or rate > 0
    assert {unit.ended for unit in units} == {0}, "what is played through stays as it is"


def test_units_that_are_lost_again_and_again_are_taken_apart() -> None:
    result = simulate(mixed(), COSTS, Shape(5, 4, losses_per_hour=2000.0, absence=5.0))
    assert any(unit.parts for unit in result.units)


@pytest.mark.parametrize("mode", MODES)
def test_the_seed_decides(mode: Mode) -> None:
    def result(seed: int) -> float:
        shape = Shape(5, 4, mode, losses_per_hour=30.0, stragglers=0.2, slowdown=3.0, seed=seed)
        return simulate(mixed(), COSTS, shape).makespan

    assert result(0) == result(0)
    assert result(0) != result(1)


@pytest.mark.parametrize("cost", ["start", "place", "look", "dispatch", "commit", "row"])
def test_what_costs_more_takes_longer(cost: str) -> None:
    """Of equal units: of others a worse order of ends may happen to be better for the last ones (Graham 1969)."""
    costs = [Costs(**{cost: value}) for value in (0.0, 1e-3, 1e-2, 0.1, 1.0)]
    spans = [simulate([Unit(5.0, 3)] * 300, each, Shape(10, 4)).makespan for each in costs]
    assert spans == sorted(spans)
    assert spans[0] < spans[-1]


def test_the_first_unit_of_each_learner_in_a_slot_takes_longer() -> None:
    units = [Unit(1.0, learner=name) for name in "aabba"]
    assert simulate(units, Costs(cold=10.0), Shape(1, 1)).makespan == pytest.approx(5 + 2 * 10)


def test_shards_keep_the_units_that_estimates_gave_them() -> None:
    units = [Unit(1.0)] * 10
    assert simulate(units, Costs(), Shape(2, 1, "slurm"), [0] * 9 + [1]).makespan == pytest.approx(9.0)


def a_plan() -> Plan:
    plugins = load_plugins()
    path = suite_path("smoke", plugins.suites)
    return plan_for(resolve(read_suite(path), plugins, str(path)), None, "cpu")


def test_without_surprise_cells_take_what_was_estimated_and_a_seed_gives_the_same_times() -> None:
    plan = a_plan()
    assert actual_seconds(plan, Surprise(), 0) == pytest.approx(plan.seconds)
    noisy = Surprise(sigma=0.5)
    assert actual_seconds(plan, noisy, 1) == actual_seconds(plan, noisy, 1) != actual_seconds(plan, noisy, 2)


def test_units_have_every_cell_once_and_all_its_time() -> None:
    plan = a_plan()
    seconds = actual_seconds(plan, Surprise(sigma=0.5, stretch=1.5, beside=0.01), 0)
    units, parts = shard_units(plan, 3, 2, seconds)
    assert set(parts) == {0, 1, 2}
    for formed in (units, session_units([plan], 6, seconds)):
        assert sum(unit.rows for unit in formed) == len(plan.todo)
        assert sum(unit.seconds for unit in formed) == pytest.approx(sum(seconds.values()))


def test_how_times_differ_is_read_from_rows() -> None:
    rng = stream("times of a test")
    row = Row("c", "s", 1, "t", "mean", "mean", {}, 4, 10, 0, "ok", device="cpu")
    times = np.exp(0.4 * rng.standard_normal(1000))
    times[0] = 30.0
    rows = [
        replace(row, fit_cpu_seconds=t, fit_wall_seconds=2 * t, fit_wait_seconds=0.0, finished_at=float(number))
        for number, t in enumerate(times.tolist())
    ]
    found = Surprise.of(Rows.of(rows))
    assert found.sigma == pytest.approx(0.4, rel=0.1)
    assert found.stretch == pytest.approx(2.0)
    assert found.cold == pytest.approx(29.0, abs=0.1)


def test_the_bottleneck_is_what_takes_longest() -> None:
    text = machines.bottleneck({"the fits": 10.0, "the session": 80.0, "the longest unit": 20.0}, 100.0)
    assert text.startswith("the session, 80 s of 100 s (80%)")
    assert "4.0 times faster, the longest unit" in text


def test_the_command_measures_and_prints_every_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machines, "start", lambda: 2.0)  # which imports everything in processes of their own
    assert machines.main(["smoke", "--replicates", "2", "--machines", "1", "3", "--cores", "2"]) == 0
    said = capsys.readouterr().out
    assert "A worker starts in 2.00 s" in said
    for mode in MODES:
        table = said.partition(f"**{mode}**")[2].partition("| wall time with")[0]
        rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| ")][2:]  # below the head
        assert [[int(cell) for cell in row] for row in rows] == [[1, 2], [3, 6]]
        assert "- 1 machine: " in table
        assert "- 3 machines: " in table
    assert "half: start of a worker" in said
