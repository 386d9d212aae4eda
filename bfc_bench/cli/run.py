"""``bfc-bench run``: run what is missing of a suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bfc_bench.cli.options import (
    STORE,
    DeviceOption,
    LearnerOption,
    SetOption,
    StoreOption,
    SuiteArgument,
    TaskOption,
    UriOption,
    workers,
)

if TYPE_CHECKING:
    from rich.console import Console

    from bfc_bench.plugins import Plugins
    from bfc_bench.run.session import Session
    from bfc_bench.tracking.live import MlflowTracker


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("run")(run)


def run(
    suite: SuiteArgument,
    learner: LearnerOption = None,
    task: TaskOption = None,
    set_: SetOption = None,
    device: DeviceOption = "auto",
    executor: Annotated[
        str, typer.Option("--executor", metavar="NAME", help="serial, processes, or a plugin's.")
    ] = "processes",
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Number of workers; one per core by default.")
    ] = None,
    store: StoreOption = STORE,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try failed cells again.")] = False,
    no_mlflow: Annotated[
        bool, typer.Option("--no-mlflow", help="Do not log to MLflow; `sync` can do so later.")
    ] = False,
    tracking_uri: UriOption = None,
) -> None:
    """Run what is missing of a suite. The same command again continues; more learners, sizes or replicates extend."""
    from rich.console import Console

    from bfc_bench.api import suite_path
    from bfc_bench.cli.display import Display
    from bfc_bench.plugins import load_plugins
    from bfc_bench.run.resolve import resolve
    from bfc_bench.run.session import run as run_grid
    from bfc_bench.suite.model import read_suite
    from bfc_bench.toolkit.precision import resolve_device

    console, plugins = Console(), load_plugins()
    path = suite_path(suite, plugins)
    grid = resolve(read_suite(path, set_ or ()), plugins, str(path), learner or (), task or ())
    plugins.executors.get(executor, "--executor")
    name, version = grid.suite.name, grid.suite.version
    tracker = None if no_mlflow else _tracker(store, name, version, tracking_uri, console)
    with Display(console) as display:
        session = run_grid(
            grid,
            plugins,
            store,
            device=resolve_device(device),
            executor=executor,
            jobs=workers(jobs),
            retry_failed=retry_failed,
            listeners=[display, tracker] if tracker else [display],
        )
    _conclude(session, plugins, tracker, tracking_uri, console)
    raise typer.Exit(session.exit_code)


def _tracker(store: Path, suite: str, version: int, uri: str | None, console: Console) -> MlflowTracker:
    from bfc_bench.run.provenance import git_commit
    from bfc_bench.store.store import Store
    from bfc_bench.tracking.client import default_uri
    from bfc_bench.tracking.live import MlflowTracker

    return MlflowTracker(
        default_uri(store, uri),
        lambda: Store(store).rows(suite, version),
        suite,
        version,
        warn=lambda message: console.print(f"warning: {message}", markup=False, highlight=False, soft_wrap=True),
        store_dir=store,
        git=git_commit(Path.cwd()),
    )


def _conclude(
    session: Session, plugins: Plugins, tracker: MlflowTracker | None, uri: str | None, console: Console
) -> None:
    """The last words of a run: a table of errors, what was done, and where the report is."""
    from bfc_bench.cli.report import log_to_mlflow, print_summary, report_directory, write

    plan, suite = session.plan, session.plan.grid.suite
    ran = sum(session.statuses.values())
    directory = report_directory(session.store.directory, session.suite, session.version)
    if ran or not (directory / "report.html").exists():
        # Imported here since the statistics behind it take longer to import than all else that a run without work does.
        from bfc_bench.analysis.claims import judge, parse_claims

        rows = session.store.rows(session.suite, session.version)
        verdicts = judge(parse_claims(suite, plugins.claims), rows)
        write(suite.definition(), rows, verdicts, session.store, directory, plugins)
        if tracker is not None and not tracker.failed and not session.interrupted:
            log_to_mlflow(session.store, session.suite, session.version, rows, verdicts, directory, uri)
        print_summary(rows, suite.levels, console)
    bad = sum(count for status, count in session.statuses.items() if status not in ("ok", "skipped")) + len(plan.failed)
    counts = ", ".join(f"{count} {status}" for status, count in sorted(session.statuses.items())) or "nothing to do"
    text = f"{session.suite}@{session.version}: {plan.cells} cells; this run: {counts}."
    if len(plan.done):
        text += f" {len(plan.done)} were done before."
    if bad:
        text += f" {bad} are not ok; `--retry-failed` tries them again."
    if session.interrupted:
        text += " Interrupted; the same command continues."
    console.print(text, markup=False, highlight=False, soft_wrap=True)
    console.print(f"Report: {directory / 'report.html'}", markup=False, highlight=False, soft_wrap=True)
