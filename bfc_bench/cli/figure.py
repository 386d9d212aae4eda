"""``bfc-bench figure``: write one figure for a paper."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from bfc_bench.cli.options import STORE, DimsOption, LabelOption, StoreOption, SuiteArgument, TaskOption
from bfc_bench.errors import UsageError


def figure(
    suite: SuiteArgument,
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="curves, n-star, cost, or features.")] = "curves",
    task: TaskOption = None,
    learner: LabelOption = None,
    d: DimsOption = None,
    metric: Annotated[str, typer.Option("--metric", metavar="COLUMN", help="Column of the results.")] = "nmse",
    level: Annotated[
        list[float] | None, typer.Option("--level", metavar="E", help="Level of error for N*. Repeatable.")
    ] = None,
    theme: Annotated[
        Literal["paper", "page"], typer.Option("--theme", help="With page, title and notes as in the report.")
    ] = "paper",
    width: Annotated[
        str | None, typer.Option("--width", metavar="LENGTH", help="Width of the whole figure, such as 3.25in or 84mm.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FILE",
            help="File to write, as .pdf, .svg, .png or .json (Vega-Lite's, with the data); SUITE-KIND.pdf by default.",
        ),
    ] = None,
    store: StoreOption = STORE,
) -> None:
    """Write one figure of a suite as PDF, SVG, PNG or JSON, with the width of a column of your paper."""
    from bfc_bench.report.figures import KINDS
    from bfc_bench.report.paper import for_paper, inches
    from bfc_bench.report.pictures import FORMATS, picture
    from bfc_bench.stored_suite import open_store
    from bfc_bench.utils.files import write_file

    if width is not None and theme == "page":
        raise UsageError("--width is for --theme paper. Leave one of them out.")
    if level and kind in KINDS and kind != "n-star":
        raise UsageError(f"--level is for --kind n-star. Got --kind {kind}.")
    if metric != "nmse" and kind == "features":
        raise UsageError("--metric is for the other kinds: --kind features shows the errors of features.")
    wide = None if width is None else inches(width)
    ending = output.suffix.removeprefix(".").lower() if output else "pdf"
    if ending not in FORMATS:
        raise UsageError(f"--output must end with .pdf, .svg, .png or .json. Got {output}.")
    with open_store(store) as suites:
        stored = suites[suite]
        drawn = stored.drawing(task or (), metric, kind=kind, learners=learner or (), d=d or (), levels=level or None)
        spec = drawn.spec() if theme == "page" else for_paper(drawn, wide)
        file = output or Path(f"{stored.name}-{kind}.pdf")
        write_file(file, picture(spec, ending))
    typer.echo(f"Figure: {file}")
