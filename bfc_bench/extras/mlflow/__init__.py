"""Logs the rows of the store to MLflow, as curves, saved views and reports."""

from collections.abc import Callable

from bfc_bench.utils.hook_markers import hookimpl


@hookimpl
def bfc_register_verbs(register: Callable[[str, str], None]) -> None:
    """Register the verbs, which are imported when they are called."""
    register("sync", f"{__name__}.command_line:sync")
    register("ui", f"{__name__}.command_line:ui")


@hookimpl
def bfc_register_listeners(register: Callable[[str, str], None]) -> None:
    """Register the listener that logs during a run."""
    register("mlflow", f"{__name__}.command_line:listener")
