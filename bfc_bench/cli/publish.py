"""``bfc-bench publish``: send a bundle to a hub of data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("publish")(publish)


def publish(
    file: Annotated[Path, typer.Argument(metavar="FILE.zip|DIR", help="Bundle that `bundle` wrote.")],
    hub: Annotated[
        str,
        typer.Option("--hub", metavar="OWNER/NAME", help="Data set of the Hugging Face hub; it is made if missing."),
    ],
    private: Annotated[bool, typer.Option("--private", help="Make the data set visible to its owner only.")] = False,
    revision: Annotated[
        str, typer.Option("--revision", metavar="BRANCH", help="Branch to write to; it is made if missing.")
    ] = "",
    message: Annotated[
        str, typer.Option("--message", metavar="TEXT", help="Message of the commit; by default the bundle's title.")
    ] = "",
    create_pr: Annotated[
        bool, typer.Option("--create-pr", help="Propose the files as a pull request to a data set of another owner.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the files and their sizes; send nothing.")] = False,
) -> None:
    """Check a bundle and publish it as a data set that others load, verify and cite.

    The data set has the files of the bundle and a card, in one commit, which replaces an earlier bundle there. Log in
    with `hf auth login`, or set HF_TOKEN. HF_ENDPOINT names another server.
    """
    from bfc_bench.bundle.hub import FOLDER, prepare, publish
    from bfc_bench.errors import UsageError
    from bfc_bench.plugins import load_plugins

    if private and create_pr:
        raise UsageError("--private is for a data set of yours; a pull request is as visible as its data set.")
    upload = prepare(file, hub, load_plugins())
    size = f"{len(upload.files)} files, {sum(map(len, upload.files.values())) / 1e6:.3g} MB"
    if dry_run:
        for name, content in sorted(upload.files.items()):
            typer.echo(f"{len(content):>12,}  {name}")
        typer.echo(f"{size} would be sent to {hub}. Nothing was sent.")
        return
    done = publish(upload, private=private, revision=revision, message=message, create_pr=create_pr)
    at, folder = f" --revision {done.revision}" if done.revision else "", hub.rpartition("/")[2]
    typer.echo(f"{done.address}: {size}.")
    typer.echo("To check what is there:")
    typer.echo(f"  hf download {hub} --repo-type dataset{at} --local-dir {folder}")
    typer.echo(f"  bfc-bench verify {folder}/{FOLDER}")
