"""The measuring command: that it measures, prints and writes what it says. Nothing depends on how fast anything is."""

import json
import sys
from pathlib import Path

import pytest
from waiting import completed

from benchmarks import BENCHMARKS, GPU_BENCHMARKS
from benchmarks.measurement import Measurement, Spread, interleave

ROOT = Path(__file__).parents[2]


def command(*arguments):
    return completed([sys.executable, "-m", *map(str, arguments)], cwd=ROOT, timeout=300)


def test_every_benchmark_is_a_file_and_every_file_that_measures_is_listed():
    measuring = {path.stem for path in ROOT.glob("benchmarks/*.py") if "def measure(quick: bool" in path.read_text()}
    assert measuring == {*BENCHMARKS, *GPU_BENCHMARKS}


def test_the_report_holds_machine_versions_load_and_lines(tmp_path):
    run = command("benchmarks", "startup", "--quick", "--output", tmp_path / "report.json")
    assert run.returncode == 0, run.stdout + run.stderr
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["quick"] is True
    assert not found["failures"]
    assert {"processor", "cores", "python", "packages", "git"} <= set(found["machine"])
    assert {"load_before", "load_after", "seconds", "started_at", "notes"} <= set(found)
    assert {line["benchmark"] for line in found["results"]} == {"startup"}
    for line in found["results"]:
        assert line["ours"]["low"] <= line["ours"]["median"] <= line["ours"]["high"]
        assert line["ours"]["low"] > 0
        assert line["count"] >= 1
        assert line["met"] is None, "a quick measurement judges no goal"


@pytest.mark.parametrize(
    ("name", "said"), [("no_such_module", "no_such_module"), pytest.param("training", "", marks=pytest.mark.slow)]
)
def test_a_benchmark_measures_or_is_named(name, said, monkeypatch):
    from benchmarks.__main__ import measure

    monkeypatch.chdir(ROOT)
    lines, failure = measure(name, True)
    assert (bool(lines), bool(failure)) == (not said, bool(said))
    assert said in failure


def test_calls_are_interleaved_and_the_ratio_is_that_of_pairs():
    now, calls = [0.0], []

    def taking(name, seconds):
        remaining = iter(seconds)

        def call():
            calls.append(name)
            now[0] += next(remaining)
            return name

        return call

    pairs = interleave(taking("a", [9, 1, 2, 4]), taking("b", [9, 3, 2, 40]), 3, clock=lambda: now[0])
    line = pairs.measurement("x", "b", "ms", goal=3, ours_scale=1e3, theirs_scale=1e3)
    assert calls == ["a", "b"] * 4
    assert pairs.results == ("a", "b")
    assert line.ratio == Spread(3.0, 1.0, 10.0)
    assert line.ours == Spread(2000.0, 1000.0, 4000.0)
    assert line.met


@pytest.mark.parametrize(("goal", "met"), [(None, None), (2.0, True), (0.5, False)])
def test_without_an_opponent_the_goal_is_an_upper_bound(goal, met):
    assert Measurement("x", "s", Spread(1.0, 1.0, 1.0), 1, goal=goal).met is met
