"""``bfc-bench run`` takes the options of listeners that plugins register, and tells listeners what happens."""

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

import bfc_bench
from bfc_bench.cli.listeners import with_listeners

runner = CliRunner()


def verb(suite, listeners=()):
    """Run a suite."""
    print(suite, *listeners)


def call(makers, *arguments):
    app = typer.Typer()
    app.command()(with_listeners(verb, makers))
    return runner.invoke(app, arguments)


def test_the_parameters_of_a_maker_are_options_of_the_verb():
    def make(path: Annotated[str, typer.Option("--path", help="Where to write.")] = "here") -> object:
        return f"writes to {path}"

    assert call({"mine": make}, "s").output == "s writes to here\n"
    assert call({"mine": make}, "s", "--path", "there").output == "s writes to there\n"
    assert "Where to write." in call({"mine": make}, "--help").output


def fails():
    raise RuntimeError("not today")


@pytest.mark.parametrize(
    ("maker", "why"),
    [
        (fails, "RuntimeError: not today"),
        ("no_such_module:make", "No module named 'no_such_module'"),
        (lambda suite="x": None, "its option 'suite' is another one's of `run`"),
    ],
    ids=["fails", "missing", "taken"],
)
def test_a_broken_maker_is_left_out_with_a_warning(maker, why, capsys):
    done = call({"mine": maker, "other": lambda: "works"}, "s")
    assert done.stdout == "s works\n"
    warning = done.stderr + capsys.readouterr().err
    assert "warning: listener 'mine' is left out: " in warning
    assert why in warning


def test_a_wrong_value_ends_the_command():
    def make(level: Annotated[int, typer.Option("--level")] = 1) -> object:
        raise bfc_bench.UsageError(f"--level must be 1. Got {level}.")

    assert isinstance(call({"mine": make}, "s", "--level", "2").exception, bfc_bench.UsageError)
