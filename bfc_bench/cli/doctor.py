"""``bfc-bench doctor``: show what is installed and check that it works."""

import os
import platform

import typer

from bfc_bench.cli.options import STORE, StoreOption


def doctor(store: StoreOption = STORE) -> None:
    """Show versions, devices, plugins and the state of the store.

    Exit code 1 if something is broken. A missing library is not an error: runs leave out the learners that need it.
    """
    from bfc_bench.errors import BenchError
    from bfc_bench.plugins.manager import load_plugins
    from bfc_bench.run.provenance import package_versions, processor
    from bfc_bench.store.store import Store
    from bfc_bench.store.unpacking import store_folder
    from bfc_bench.toolkit.libraries import install_command, missing
    from bfc_bench.toolkit.precision import resolve_device

    typer.echo(f"Python {platform.python_version()} on {platform.platform()}, {os.cpu_count()} cores, {processor()}")
    for name, version in package_versions().items():
        extra = "jax" if name == "jaxlib" else name
        typer.echo(f"  {name:16} {version or f'not installed: {install_command(extra)}'}")
    for device in ("cpu", "cuda"):
        try:
            typer.echo(f"device {device}: {resolve_device(device)}")
        except BenchError as error:
            typer.echo(f"device {device}: unavailable: {error}")
    plugins = load_plugins()
    plugins.import_all()
    unusable = sum(missing(plugins.learners.get(name).capabilities.required) is not None for name in plugins.learners)
    typer.echo(
        f"plugins: {len(plugins.learners)} learners, {len(plugins.suites)} suites"
        + (f"; {unusable} learners need libraries that are not installed, see `bfc-bench list`" if unusable else "")
    )
    for item in plugins.unavailable:
        typer.echo(f"  {item}")
    contents, broken = "none yet", bool(plugins.unavailable)
    if store.is_file() or (store / "results.sqlite").exists():
        try:
            with Store(store_folder(store)) as opened:
                contents = ", ".join(f"{name}@{version}" for name, version in opened.suites()) or "empty"
        except BenchError as error:
            contents, broken = str(error), True
    typer.echo(f"store {store}: {contents}")
    raise typer.Exit(1 if broken else 0)
