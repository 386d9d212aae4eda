"""The command line application: loads the verbs and turns errors into messages and exit codes."""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pkgutil import resolve_name
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bfc_bench.errors import BenchError
from bfc_bench.plugins.builtin import own
from bfc_bench.registry import broken_plugins
from bfc_bench.utils.escape_control import visible
from bfc_bench.utils.masking import masked


def app_of(name: str, registered: Callable[..., Any] | str) -> typer.Typer:
    """An application of one verb, given what was registered as the verb."""
    verb = resolve_name(registered) if isinstance(registered, str) else registered
    app = typer.Typer()
    app.callback()(lambda: None)
    if isinstance(verb, typer.Typer):
        app.add_typer(verb, name=name)
    elif name == "run":
        from bfc_bench.cli.listeners import with_listeners

        app.command(name)(with_listeners(verb, all_by_name("listener")))
    else:
        app.command(name)(verb)
    return app


def all_by_name(kind: str) -> dict[str, Callable[..., Any] | str]:
    """What all plugins register of the kind ``verb`` or ``listener``, by name, with a warning for what is broken.

    Plugins are loaded only if another distribution has some.
    """
    from importlib.metadata import entry_points

    parts = own(kind)
    if all(point.dist is not None and point.dist.name == "bfc-bench" for point in entry_points(group="bfc_bench")):
        return parts
    from bfc_bench.plugins.manager import load_plugins

    registry = load_plugins().registries[kind]
    for broken in registry.import_all():
        _warn(str(broken))
    return parts | {name: registry.get(name) for name in registry if name not in parts}


PANELS = {
    "Start": ("run", "results", "claims", "compare", "report"),
    "Your own": ("try", "new", "check", "list", "show"),
    "More": ("figure", "plan", "data", "doctor", "merge"),
}
"""Verbs by their panel of ``--help``; further verbs are in "Extras" or "Plugins"."""


class Verbs(TyperGroup):
    """A command group that imports a verb's module only when the verb is called or help is shown."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "commands": dict.fromkeys(own("verb"))})  # names, for suggestions

    def list_commands(self, ctx: Any) -> list[str]:
        """All verbs in the order of the panels, those of other distributions last."""
        first = [verb for verbs in PANELS.values() for verb in verbs if verb in self._registered]
        return list(dict.fromkeys([*first, *self._registered]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a verb; None for an unknown name."""
        ours = own("verb").get(cmd_name)
        if not (registered := ours or self._registered.get(cmd_name)):
            return None
        command: Any = typer.main.get_group(app_of(cmd_name, registered)).commands[cmd_name]
        panels = [panel for panel, verbs in PANELS.items() if cmd_name in verbs]
        command.rich_help_panel = panels[0] if panels else "Extras" if ours else "Plugins"
        return command

    @cached_property
    def _registered(self) -> dict[str, Callable[..., Any] | str]:
        return all_by_name("verb")


app = typer.Typer(
    cls=Verbs,
    name="bfc-bench",
    help="Benchmark the sample complexity of learners on shared suites of tasks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(requested: bool) -> None:
    if requested:
        from bfc_bench.version import __version__

        typer.echo(f"bfc-bench {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of the program itself."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command with these arguments, or those of the process, and return its exit code."""
    signal.signal(signal.SIGTERM, interrupt)
    return exit_code(lambda: app(args=arguments, standalone_mode=False))


def exit_code(command: Callable[[], Any]) -> int:
    """Call a command, print what is wrong, and return its exit code.

    0 is success, 1 a failed cell or check or a file that cannot be written, 2 bad usage, a bad suite or a bad store,
    130 an interrupt.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            code = command()
    except BenchError as error:
        return _complain(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", 130)
    except Exception as error:
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # a usage error of the parser
            return _complain(_with_advice(error), int(error.exit_code))
        raise
    return code if isinstance(code, int) else 0


def _with_advice(error: Any) -> str:
    """The text of a usage error; for an option that is a key of suites, how to set it."""
    option, verb = getattr(error, "option_name", None), getattr(error, "ctx", None)
    text = str(error.format_message())
    if text.startswith("No such command"):
        from bfc_bench.plugins.manager import load_plugins

        more = "" if "Did you mean" in text else " `bfc-bench --help` shows the commands."
        return text + more + broken_plugins(load_plugins().unavailable, "", "verb")
    if option is None or verb is None or not {"suite", "set_"} <= {parameter.name for parameter in verb.command.params}:
        return text
    from bfc_bench.suite.model import Suite, TaskEntry

    key = option.lstrip("-").replace("-", "_")
    if key not in Suite.model_fields and key not in TaskEntry.model_fields:
        return text
    whose, name = ("the suite", key) if key in Suite.model_fields else ("tasks", f"task.NAME.{key}")
    return f"No such option: {option}. {key} is a key of {whose}: write --set {name}=..."


def leave(code: int) -> None:
    """End the process, without waiting for a daemon thread, such as one whose request to a server hangs."""
    if any(thread.daemon for thread in threading.enumerate()):
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    raise SystemExit(code)


def _complain(message: str, code: int) -> int:
    if message:
        print(f"bfc-bench: {visible(masked(message))}", file=sys.stderr)
    return code


def _warn(message: Warning | str, *place: object, **unused: object) -> None:
    """Print a warning without its class and its place in the code."""
    print(f"bfc-bench: warning: {visible(masked(str(message)))}", file=sys.stderr)


def interrupt(number: int, frame: FrameType | None) -> None:
    """A handler of signals, which end the program as Ctrl-C does."""
    raise KeyboardInterrupt
