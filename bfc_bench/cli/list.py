"""``bfc-bench list``: what is installed."""

import typer


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("list")(list_)


def list_() -> None:
    """List learners, tasks' parts, suites and executors with the plugin each comes from."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from bfc_bench.plugins import load_plugins

    plugins = load_plugins()
    table = Table("kind", "name", "from", "what", box=None, pad_edge=False, header_style="bold")
    for registry in (
        plugins.learners,
        plugins.inputs,
        plugins.targets,
        plugins.labels,
        plugins.suites,
        plugins.executors,
        plugins.plots,
    ):
        for name in registry:
            table.add_row(registry.kind, name, registry.origin(name), escape(_summary(registry.get(name))))
    console = Console()
    if not console.is_terminal:
        console.width = 200
    console.print(table)
    for origin, why in plugins.unavailable.items():
        console.print(f"{origin}: unavailable: {why}", markup=False, highlight=False, soft_wrap=True)


def _summary(value: object) -> str:
    """The first line of a docstring; a path as it is."""
    if not isinstance(value, type):
        return str(value) if not callable(value) else ""
    return (value.__doc__ or "").strip().split("\n")[0].rstrip(".")
