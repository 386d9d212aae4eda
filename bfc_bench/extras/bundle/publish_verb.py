"""``bfc-bench publish``: send a bundle to a hub of data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def publish(
    file: Annotated[Path, typer.Argument(metavar="FILE.zip", help="Bundle that `bundle` wrote.")],
    hub: Annotated[
        str,
        typer.Option("--hub", metavar="OWNER/NAME", help="Data set of the Hugging Face hub; it is made if missing."),
    ],
    private: Annotated[bool, typer.Option("--private", help="Make a new data set visible to its owner only.")] = False,
) -> None:
    """Check a bundle and publish it, with its rows as parquet, as a data set that others load, verify and cite.

    Log in with `hf auth login`, or set HF_TOKEN. HF_ENDPOINT names another server.
    """
    from bfc_bench.extras.bundle.hub import publish
    from bfc_bench.plugins import load_plugins

    typer.echo(publish(file, hub, load_plugins(), private=private))
