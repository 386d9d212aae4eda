"""``bfc-bench run``: run what is missing of a suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bfc_bench.cli.options import (
    STORE,
    DeviceOption,
    LearnerOption,
    RedoOption,
    RetryOption,
    SetOption,
    StoreOption,
    SuiteArgument,
    TaskOption,
    UriOption,
    console,
    redo_of,
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
    redo: RedoOption = None,
    retry_failed: RetryOption = False,
    no_mlflow: Annotated[
        bool, typer.Option("--no-mlflow", help="Do not log to MLflow; `sync` can do so later.")
    ] = False,
    tracking_uri: UriOption = None,
) -> None:
    """Run what is missing of a suite. The same command again continues; more learners, sizes or replicates extend."""
    from bfc_bench.api import run_suite
    from bfc_bench.cli.display import Display
    from bfc_bench.plugins import load_plugins

    out, plugins = console(160), load_plugins()
    tracker = None if no_mlflow else _tracker(tracking_uri, out)
    with Display(out) as display:
        session = run_suite(
            suite,
            store=store,
            learners=learner or (),
            tasks=task or (),
            changes=set_ or (),
            device=device,
            executor=executor,
            jobs=jobs,
            redo=redo_of(redo, retry_failed),
            plugins=plugins,
            listeners=[display, tracker] if tracker else [display],
        )
    _conclude(session, plugins, tracker, tracking_uri, out)
    raise typer.Exit(session.exit_code)


def _tracker(uri: str | None, out: Console) -> MlflowTracker:
    from bfc_bench.run.provenance import git_commit
    from bfc_bench.tracking.live import MlflowTracker

    return MlflowTracker(
        uri,
        warn=lambda message: out.print(f"warning: {message}", markup=False, highlight=False, soft_wrap=True),
        git=git_commit(Path.cwd()),
    )


def _conclude(session: Session, plugins: Plugins, tracker: MlflowTracker | None, uri: str | None, out: Console) -> None:
    """The last words of a run: a table of errors, what was done, and where the report is."""
    from bfc_bench.cli.summary import print_summary
    from bfc_bench.stored_suite import OpenStore

    plan = session.plan
    with OpenStore(session.store.directory, plugins) as held:
        stored = held.of(plan.grid.suite)
        if not stored.reported:
            stored.report()
            if tracker is not None and not session.interrupted:
                tracker.attempt(lambda: stored.log_report(uri))
            print_summary(stored, out)
    bad = sum(count for status, count in session.statuses.items() if status not in ("ok", "skipped")) + len(plan.failed)
    counts = ", ".join(f"{count} {status}" for status, count in sorted(session.statuses.items())) or "nothing to do"
    text = f"{session.suite}@{session.version}: {plan.cells} cells; this run: {counts}."
    if len(plan.done):
        text += f" {len(plan.done)} were done before."
    if bad:
        text += f" {bad} are not ok; `--redo failed` tries them again."
    if session.interrupted:
        text += " Interrupted; the same command continues."
    out.print(text, markup=False, highlight=False, soft_wrap=True)
    out.print(f"Report: {stored.directory / 'report.html'}", markup=False, highlight=False, soft_wrap=True)
