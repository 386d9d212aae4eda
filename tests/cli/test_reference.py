"""The reference that is read from the classes: every registered thing, with ranges, defaults and meanings."""

from pathlib import Path

import pytest

from bfc_bench.analysis.claims.base import METRICS, PARTS
from bfc_bench.cli.reference import entries, find
from bfc_bench.errors import UsageError
from bfc_bench.plugins.manager import load_plugins

PLUGINS = load_plugins()


def options(name):
    (entry,) = find(PLUGINS, name)
    return {option.name: option for option in entry.options}


def test_everything_that_is_registered_has_an_entry_and_says_what_it_is():
    found = entries(PLUGINS)
    assert [entry.name for entry in found] == [name for each in PLUGINS.registries.values() for name in each]
    assert [entry.name for entry in found if not entry.text] == []
    help = {entry.name: entry.text for entry in found if entry.kind == "verb"}
    assert (help["data"][:14], help["site"][:14]) == ("List, download", "Write a static")  # a group, and an extra's


def test_ranges_defaults_and_meanings_are_those_of_the_class():
    found = options("kernel-ridge")
    assert found["ridge"].values == "number >= 0"
    assert found["ridge"].default == "1e-06"
    assert found["ridge"].text.startswith("Penalty on |f|^2")
    assert found["kernel"].values == '"rbf" | "laplace" | "poly" | "harmonic" | "ntk" | "nngp"'
    assert found["with_squares"].values == "true or false"
    assert options("quadratic-densenet")["widths"].default == "required"
    assert options("quadratic-densenet")["widths"].values == "list of integer > 0"
    assert options("exponent")["harmonics"].values == "integer >= 1, or left out"
    assert options("wkr-densenet")["depth"].values == "integer >= 2, <= 8"
    assert options("wkr-densenet")["momentum"].values == "number >= 0, < 1"
    assert options("wkr-densenet")["feature_moment"].values == 'number > 0 or "printed"'


def test_a_metric_says_what_it_is_and_its_page_names_every_error_of_a_claim():
    for entry in entries(PLUGINS, "metric"):
        assert {"range", "labels", "of"} <= entry.facts.keys(), entry.name
    facts = find(PLUGINS, "error_rate")[0].facts
    assert (facts["range"], facts["of perfect predictions"]) == ("0 to 1", "0")
    page = (Path(__file__).parents[2] / "docs" / "reference" / "metrics.md").read_text()
    assert [name for name in (*METRICS, *PARTS) if f"`{name}" not in page] == []


def test_every_option_says_what_it_means():
    silent = [(entry.name, option.name) for entry in entries(PLUGINS) for option in entry.options if not option.text]
    assert silent == []


def test_a_variant_has_the_options_of_its_constructor():
    assert options("sklearn:ensemble.RandomForestRegressor")["n_estimators"].default == "100"


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(UsageError, match="Did you mean 'kernel-ridge'"):
        find(PLUGINS, "kernel-rigde")
    with pytest.raises(UsageError, match=r"there is no such kind\. Did you mean 'learner'"):
        entries(PLUGINS, "lerner")
    with pytest.raises(UsageError, match=r"Did you mean 'numpy\.random:Generator'"):
        find(PLUGINS, "numpy.random.Generator")
    with pytest.raises(UsageError, match=r"Known: .* and \d+ more\.$"):
        find(PLUGINS, "xyzzy")


def test_show_prints_every_option(printed):
    shown = printed("show", "kernel-ridge")
    (entry,) = find(PLUGINS, "kernel-ridge")
    assert entry.facts["labels"] == "real, binary, class"
    for option in entry.options:
        assert option.name in shown
        assert option.default in shown
