"""``bfc-bench sync``: bring MLflow up to date with the store."""

from __future__ import annotations

from pathlib import Path

import typer

from bfc_bench.cli.options import STORE, StoreOption, SuiteArgument, UriOption


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("sync")(sync)


def sync(suite: SuiteArgument, store: StoreOption = STORE, tracking_uri: UriOption = None) -> None:
    """Log to MLflow what the store has and MLflow lacks. Running it twice adds nothing."""
    from bfc_bench.analysis.claims import judge
    from bfc_bench.api import read_results, suite_claims, suite_key
    from bfc_bench.cli.report import log_to_mlflow, report_directory
    from bfc_bench.plugins import load_plugins
    from bfc_bench.run.provenance import git_commit
    from bfc_bench.store.store import Store
    from bfc_bench.tracking.client import default_uri
    from bfc_bench.tracking.sync import sync as bring_up_to_date

    rows, held = read_results(suite, store=store), Store(store)
    plugins = load_plugins()
    name, version = suite_key(suite, held, plugins)
    uri = default_uri(store, tracking_uri)
    report = bring_up_to_date(rows, uri, suite=name, version=version, store_dir=store, git=git_commit(Path.cwd()))
    directory = report_directory(store, name, version)
    if (directory / "report.html").exists():
        verdicts = judge(suite_claims(suite, held, plugins), rows)
        log_to_mlflow(held, name, version, rows, verdicts, directory, tracking_uri)
    typer.echo(f"{name}@{version} -> {uri}: {report}")
