"""``bfc-bench try``: a first answer about a table of your own."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from bfc_bench.cli.options import STORE, StoreOption


def try_(
    table: Annotated[Path, typer.Argument(metavar="TABLE", dir_okay=False, help="A CSV or parquet file.")],
    target: Annotated[str, typer.Option("--target", metavar="COLUMN", help="The column to be predicted.")],
    group: Annotated[
        str | None,
        typer.Option("--group", metavar="COLUMN", help="Keep rows with equal values on one side, such as a patient's."),
    ] = None,
    time_: Annotated[
        str | None, typer.Option("--time", metavar="COLUMN", help="Test on the last rows in the order of this column.")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option("--drop", metavar="COLUMN", help="Leave this column out. Repeatable.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="An option of the table, e.g. separator=';'. Repeatable."),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds", metavar="S", min=1, help="CPU time for the learners, in seconds; three sizes run in any case."
        ),
    ] = 45.0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="FILE", help="The suite file to write; by default TABLE with the suffix .toml."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the suite file if there is one.")] = False,
    store: StoreOption = STORE,
) -> None:
    """Look at a table, write a suite for it, run it, and answer: how many rows, which learner, how sure.

    The suite file is commented and yours to change. `bfc-bench run` continues where the time ended.
    """
    from bfc_bench.cli.display import Progress
    from bfc_bench.cli.options import console
    from bfc_bench.errors import UsageError
    from bfc_bench.extras.try_table.answer import answer
    from bfc_bench.extras.try_table.suite_file import plain_name, suite_text
    from bfc_bench.extras.try_table.table_facts import facts_of_table
    from bfc_bench.extras.try_table.within import run_within
    from bfc_bench.stored_suite import open_store
    from bfc_bench.suite.changes import changed
    from bfc_bench.utils.escape_control import visible
    from bfc_bench.utils.files import write_file

    out = output or table.with_suffix(".toml")
    if out.resolve().parent != table.resolve().parent:
        raise UsageError(
            f"--output {out}: the suite file must be in the folder of the table, {table.resolve().parent}."
        )
    if out.suffix != ".toml" or out.is_symlink() or out.is_dir():
        raise UsageError(f"--output {out}: the suite file must end in .toml and be no link or folder.")
    facts = facts_of_table(table, target, group=group, time=time_, drop=drop or (), given=changed({}, set_))
    text = suite_text(facts, plain_name(out.stem))
    if out.exists() and not force and out.read_bytes() != text.encode():
        raise UsageError(f"{out}: the file exists. Run it with `bfc-bench run {out}`, or replace it with --force.")
    write_file(out, text.encode())
    screen = console(100)

    def say(*lines: str) -> None:
        for line in lines:
            screen.print(visible(line), markup=False, highlight=False, soft_wrap=False)

    say(f"{table}: {facts.rows:,} rows; {facts.pool:,} to train on, {facts.tested:,} to test on.")
    say(*(f"  {column}: {words}" for column, words in facts.columns.items()))
    say(*(f"  Note: {remark}" for remark in facts.remarks))
    with Progress(screen) as progress:
        unfinished = run_within(out, store, seconds, say, [progress])
    with open_store(store) as suites:
        say("", *answer(suites[str(out)], facts), "", "Next:")
    store_option = "" if store == STORE else f" --store {quote(str(store))}"
    suite = quote(str(out))
    if unfinished:
        sizes = ", ".join(f"{n:,}" for n in unfinished)
        say(f"  bfc-bench run {suite}{store_option}      # the sizes beyond {seconds:g} s of CPU time: {sizes}")
    say(f"  bfc-bench run {suite} --set replicates=20{store_option}      # surer")
    say(f"  bfc-bench report {suite}{store_option}      # curves")
    say(f"  {out}: change learners and options there")
