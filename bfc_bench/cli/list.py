"""``bfc-bench list``: what is installed."""

import typer

HEADER = ("kind", "name", "from", "what")


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("list")(list_)


def list_() -> None:
    """List learners, tasks' parts, suites and executors with the plugin each comes from."""
    from bfc_bench.plugins import load_plugins

    plugins = load_plugins()
    rows = [
        (registry.kind, name, registry.origin(name), _summary(registry.get(name)))
        for registry in (
            plugins.learners,
            plugins.inputs,
            plugins.targets,
            plugins.labels,
            plugins.suites,
            plugins.executors,
            plugins.plots,
        )
        for name in registry
    ]
    # Not a table of rich, whose import and layout take longer than to find all this.
    widths = [max(map(len, column)) for column in zip(HEADER, *rows, strict=True)]
    for row in (HEADER, *rows):
        typer.echo("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    for origin, why in plugins.unavailable.items():
        typer.echo(f"{origin}: unavailable: {why}")


def _summary(value: object) -> str:
    """The first line of a docstring; a path as it is."""
    if not isinstance(value, type):
        return str(value) if not callable(value) else ""
    return (value.__doc__ or "").strip().split("\n")[0].rstrip(".")
