"""Logs the rows of the store to MLflow, as curves, saved views and reports."""

from bfc_bench.plugins.register import Register
from bfc_bench.utils.hook_markers import hookimpl


@hookimpl
def bfc_register(register: Register) -> None:
    """Register the verbs, and the listener that logs during a run; they are imported when they are needed."""
    register.verb("sync", f"{__name__}.command_line:sync")
    register.verb("ui", f"{__name__}.command_line:ui")
    register.listener("mlflow", f"{__name__}.command_line:listener")
