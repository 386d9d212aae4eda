"""``bfc-bench run``: run the cells of a suite that the store lacks."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Annotated

import typer

from bfc_bench.cli import options

if TYPE_CHECKING:
    from rich.console import Console

    from bfc_bench.plugins.manager import Plugins
    from bfc_bench.run.session import Session
    from bfc_bench.stored_suite import StoredSuite


def run(
    suite: options.SuiteArgument,
    learner: options.LearnerOption = None,
    task: options.TaskOption = None,
    set_: options.SetOption = None,
    device: options.DeviceOption = "auto",
    executor: options.ExecutorOption = None,
    executor_option: options.ExecutorOptionsOption = None,
    jobs: options.JobsOption = None,
    store: options.StoreOption = options.STORE,
    data: options.DataOption = None,
    redo: options.RedoOption = None,
    until_decided: options.UntilDecidedOption = False,
    locate: options.LocateOption = None,
    hours: Annotated[
        float | None,
        typer.Option("--hours", metavar="H", help="With --until-decided: start no cells after this many hours."),
    ] = None,
    up_to: options.UpToOption = None,
    listeners: Sequence[object] = (),
) -> None:
    """Run the cells of a suite that are not in the store yet.

    Repeat the command to continue after an interruption, or to add learners, sizes or replicates.
    """
    from bfc_bench.cli.display import Display
    from bfc_bench.errors import UsageError
    from bfc_bench.plugins.manager import load_plugins
    from bfc_bench.run.options import RunOptions
    from bfc_bench.strategies.api import located, run_as_asked, run_until_decided
    from bfc_bench.strategies.until_decided import Decided
    from bfc_bench.suite.changes import changed

    if hours is not None and not until_decided:
        raise UsageError("--hours needs --until-decided.")
    last = options.last_look(until_decided, up_to, locate)
    out, plugins = options.console(160), load_plugins()
    with Display(out) as display:
        run_options = RunOptions(
            store=store,
            learners=learner or (),
            tasks=task or (),
            changes=set_ or (),
            device=device,
            executor=executor,
            executor_options=changed({}, executor_option, "--executor-option"),
            jobs=jobs,
            redo=options.redo_of(redo),
            plugins=plugins,
            listeners=[display, *listeners],
        )
        if last is not None:
            done = run_until_decided(suite, run_options, hours=hours, last=last, tell=display.say)
        else:
            done = Decided(run_as_asked(suite, run_options, partial(located, factor=locate), display.say))
        display.show(lambda: "writing the report")
        if done.sessions:
            with plugins.with_listeners(listeners):
                _conclude(done.sessions, plugins, out, suite)
    if until_decided and not done.ended:
        out.print("No claim is about the cells of this run.")
    for claim in done.ended:
        out.print(f"{claim.claim}: {claim.verdict}. {claim.why}", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(done.exit_code)


def _conclude(sessions: Sequence[Session], plugins: Plugins, out: Console, suite: str) -> None:
    """Write the report, then print the table of errors, the counts of cells, the path of the report and what is next.

    ``suite`` is its name or path, as the user gave it.
    """
    from bfc_bench.cli.failures import failure_lines
    from bfc_bench.cli.summary import print_summary
    from bfc_bench.cli.tables import print_text
    from bfc_bench.stored_suite import OpenStore

    advised: list[str] = []
    with OpenStore(sessions[0].store.directory, plugins) as suites:
        stored = suites.of(sessions[0].plan.grid.suite)
        if not stored.reported:
            stored.report()
            if not any(session.interrupted for session in sessions):
                advised = plugins.manager.hook.bfc_reported(suite=stored)
            print_summary(stored, out)
        in_file = suites.get(suite)  # --set may have changed name and version
        if in_file is None or (in_file.name, in_file.version) != (stored.name, stored.version):
            suite = f"{stored.name}@{stored.version}"
        following = _next_commands(stored, suite, advised)
        for line in failure_lines(stored) if any(session.bad for session in sessions) else []:
            print_text(out, line)
    skipped = [why for session in sessions for why in session.plan.skipped.values()]
    if len(skipped) == sum(len(session.plan.cells) for session in sessions):
        for reason, count in Counter(skipped).items():
            print_text(out, f"skipped {count}: {reason}")
    for line in (_counts(sessions), f"Report: {stored.directory / 'report.html'}", *following):
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _counts(sessions: Sequence[Session]) -> str:
    """How many cells were planned, what came of them in this run, and whether to run the command again."""
    from bfc_bench.run.session import counts_text
    from bfc_bench.utils.counted import counted

    session, plans = sessions[0], [session.plan for session in sessions]
    statuses = sum((session.statuses for session in sessions), Counter[str]())
    cells, done = sum(len(plan.cells) for plan in plans), sum(len(plan.done) for plan in plans)
    counts = counts_text(statuses, sum(len(plan.todo) for plan in plans))
    text = f"{session.suite}@{session.version}: {counted(cells, 'cell')}; this run: {counts}."
    if done:
        text += f" Done before: {done}."
    if bad := sum(session.bad for session in sessions):
        text += f" Not ok: {bad}; `--redo failed` tries again."
    if any(session.interrupted for session in sessions):
        text += " Interrupted; the same command continues."
    return text


def _next_commands(stored: StoredSuite, suite: str, advised: Sequence[str]) -> list[str]:
    """What to do with the results: a line per command, with the store of this run; last what listeners advise."""
    store, name = stored.store.directory, shlex.quote(suite)
    store_option = "" if store == options.STORE else f" --store {shlex.quote(str(store))}"
    lines = [f"bfc-bench results {name}{store_option} --format csv --output rows.csv"]
    if stored.suite.claim:
        lines = [f"bfc-bench claims {name}{store_option}", *lines]
    places = [rows.distinct("label") for rows in stored.columns().where(status="ok").groups("task", "d").values()]
    pairs = combinations(stored.labels, 2)
    if pair := next((pair for pair in pairs if any({*pair} <= {*labels} for labels in places)), None):
        lines.append(f"bfc-bench compare {shlex.join(pair)} --suite {name}{store_option}")
    return ["Next:", *(f"  {line}" for line in [*lines, *(f"{command}{store_option}" for command in advised)])]
