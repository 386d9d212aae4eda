"""Requirements of a verb of ``bfc-bench``. The verb itself is not called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bfc_bench.testing.requirement import require, requirement

UNKNOWN = "--no-option-has-this-name"


@dataclass
class VerbTrial:
    """A tested verb."""

    command: Callable[..., Any]

    def type(self, *arguments: str) -> tuple[int, str]:
        """Exit code and output of ``bfc-bench VERB ARGUMENTS``."""
        import typer
        from typer.testing import CliRunner

        app = typer.Typer(pretty_exceptions_enable=False)
        app.command("verb")(self.command)
        result = CliRunner().invoke(app, arguments)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output


@requirement()
def it_says_what_it_does(trial: VerbTrial) -> None:
    """The function has a docstring, which ``bfc-bench --help`` shows."""
    require(bool((inspect.getdoc(trial.command) or "").strip()), "the function has no docstring, which is its help")


@requirement()
def its_help_is_printed(trial: VerbTrial) -> None:
    """Typer can read the parameters, and ``--help`` ends with exit code 0."""
    code, output = trial.type("--help")
    require(code == 0, f"--help ended with exit code {code}: {output.strip()[-200:]}")


@requirement(its_help_is_printed)
def every_parameter_has_a_type(trial: VerbTrial) -> None:
    """Parameters are annotated, so that what is typed is read as what the function expects."""
    untyped = [
        name
        for name, parameter in inspect.signature(trial.command).parameters.items()
        if parameter.annotation is inspect.Parameter.empty
    ]
    example = next(iter(untyped), "")
    require(not untyped, f"parameters without a type: {', '.join(untyped)}. Write, for example, {example}: str")


@requirement(its_help_is_printed)
def unknown_options_are_refused(trial: VerbTrial) -> None:
    """An option that does not exist ends the verb with exit code 2."""
    code, _ = trial.type(UNKNOWN)
    require(code == 2, f"{UNKNOWN} must end with exit code 2. Got {code}")
