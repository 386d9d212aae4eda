"""What pages of the site are filled with: options of everything that a suite can name, the suites, the notebook.

A page has a line ``<!-- fill: WHAT -->`` where the text goes, so that it is never written down twice: WHAT is a kind of
``bfc-bench list``, ``suites``, ``commands`` or the path of a notebook. In a list of pages ``<!-- if there: PAGE -->``
stands for a page that may be missing.
"""

import inspect
import json
import re
import tomllib
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import get_args

from typer.models import OptionInfo

from bfc_bench.cli.app import app_of
from bfc_bench.cli.reference import ReferenceEntry, entries
from bfc_bench.errors import UsageError
from bfc_bench.plugins.builtin import own
from bfc_bench.plugins.manager import Plugins, load_plugins
from bfc_bench.run.grid import make_grid
from bfc_bench.suite.read import read_suite

ROOT = Path(__file__).parent.parent
CLAIMS = ROOT / "docs" / "claims.md"


def fill(text: str, folder: Path, page: str) -> str:
    """A page's text, its marks replaced, and links to folders, for which a site has no page, made plain."""
    text = re.sub(r"\[([^\]]+)\]\(\.\./[^)\s]*?/[^).\s]*\)", lambda link: f"`{link[1].strip('`')}`", text)
    text = re.sub(r"<!-- if there: (\S+) -->", lambda name: name[1] * (folder / f"{name[1]}.md").exists(), text)
    return re.sub(r"<!-- fill: (.+?) -->", lambda mark: _filled(mark[1], folder), text)


def _filled(what: str, folder: Path) -> str:
    if what.endswith(".ipynb"):
        return notebook(folder / what)
    if what == "commands":
        return "\n\n".join(commands())
    if what == "suites":
        return "\n\n".join(map(suite, sorted((ROOT / "suites").glob("*.toml"))))
    return "\n\n".join(map(entry, entries(_plugins(), what)))


@cache
def _plugins() -> Plugins:
    return load_plugins()


def entry(found: ReferenceEntry) -> str:
    """A section: what it is, its facts, its options."""
    parts = [f"## {found.name}", words(found.text)]
    if facts := {name: fact for name, fact in found.facts.items() if name != "file"}:
        parts.append("\n".join(f"- **{name}**: {plain(fact)}" for name, fact in facts.items()))
    if found.options:
        lines = (
            (f"`{option.name}`", f"`{option.values}`", f"`{option.default}`", plain(option.text))
            for option in found.options
        )
        parts.append(table(("option", "values", "default", "what it is"), lines))
    return "\n\n".join(part for part in parts if part)


def suite(path: Path) -> str:
    """A section on a suite file: what it shows, how much it is, and what its head says that it takes."""
    text = path.read_text(encoding="utf-8")
    held = tomllib.loads(text)
    head = " ".join(
        line.removeprefix("#").strip() for line in takewhile(lambda line: line[:1] == "#", text.splitlines())
    )
    planned = cells(path)
    tasks, learners, claims = held["task"], held["learner"], held.get("claim", [])
    names = list(dict.fromkeys(learner.get("label", learner["name"]) for learner in learners))
    facts = [
        f"- **runs**: {planned:,} cells: {counted(len(tasks), 'task')}, {counted(len(names), 'learner')}, "
        f"{held.get('replicates', 3)} replicates",
        f"- **learners**: {', '.join(f'`{name}`' for name in names)}",
        f"- **claims**: {len(claims)}" if claims else "",
        f"- **fitting took**: {took}" if (took := fitting(path.stem, planned)) else "",
        f"- **note**: {plain(head)}" if head else "",
    ]
    shows = [f"## {path.stem}", plain(held["description"]), "\n".join(filter(None, facts))]
    return "\n\n".join([*shows, f"```console\n$ bfc-bench run {path.stem}\n```"])


def fitting(name: str, count: int) -> str:
    """What the page of findings says that all ``count`` cells of a suite took to fit, in words."""
    (found, *_) = [*re.findall(rf"^## {name}\n(.*?)(?=^## |\Z)", CLAIMS.read_text(), re.MULTILINE | re.DOTALL), ""]
    took = re.search(r"^Seed \d+: ([\d,]+) cells, ([\d,]+) s of fitting", found, re.MULTILINE)
    return f"{took[2]} CPU seconds" if took and int(took[1].replace(",", "")) == count else ""


def commands() -> Iterable[str]:
    """A section per verb."""
    for verb, registered in own("verb").items():
        added = app_of(verb, registered)
        for group in added.registered_groups:
            for held in group.typer_instance.registered_commands:
                yield command(f"{group.name} {held.name}", held.callback)
        for held in added.registered_commands:
            yield command(held.name, held.callback)


def command(name: str, callback: Callable[..., object]) -> str:
    """A section on a verb: what it does, its arguments and options."""
    lines = []
    for parameter, taken in inspect.signature(callback, eval_str=True).parameters.items():
        for info in getattr(hint := taken.annotation, "__metadata__", ()):
            if getattr(info, "hidden", False):
                continue
            if isinstance(info, OptionInfo):
                spelt = ", ".join(info.param_decls or ["--" + parameter.strip("_").replace("_", "-")])
                takes = "" if bool in get_args(hint) else f" {info.metavar or 'VALUE'}"
                lines.append((f"`{spelt}{takes}`", said(info.help)))
            else:
                lines.append((f"`{info.metavar or parameter.upper()}`", said(info.help)))
    parts = [f"## {name}", said(inspect.getdoc(callback))]
    return "\n\n".join([*parts, table(("argument or option", "what it is"), lines)] if lines else parts)


def said(text: str | None) -> str:
    """A help text, in which `code` has one backtick."""
    return plain(re.sub(r"`+", "``", text or ""))


def cells(path: Path) -> int:
    """How many cells a suite plans; the sizes of data that are not on this machine count as they are written."""
    suite = read_suite(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about options that a suite sets on purpose
            return sum(1 for _ in make_grid(suite, load_plugins(), str(path)).cells())
    except UsageError:
        return sum(
            sum(n <= (learner.max_n or n) for n in task.n) * suite.replicates
            for task in suite.task
            for learner in suite.learner
            if learner.tasks is None or task.name in learner.tasks
        )


def notebook(path: Path) -> str:
    """A notebook's cells, each with its output as text."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            shown = output.get("text") or output.get("data", {}).get("text/plain", "")
            parts.append(f"```text\n{''.join(shown).rstrip()}\n```")
    return "\n\n".join(parts)


def words(text: str) -> str:
    """A docstring as Markdown: ``code`` stays, what is indented stays, all else means itself."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(part if part.startswith("    ") else plain(part) for part in paragraphs)


def plain(text: str) -> str:
    """A text without markup but for ``code``."""
    parts = re.split(r"``(.+?)``", text)
    return "".join(
        f"`{part}`" if index % 2 else re.sub(r"([*_<>\[\]|`~#\\])", r"\\\1", part) for index, part in enumerate(parts)
    )


def table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    rows = [list(head), *map(list, lines)]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join("| " + " | ".join(re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in row) + " |" for row in rows)


def counted(count: int, what: str) -> str:
    """``1 task``, ``2 tasks``."""
    return f"{count} {what}{'s' * (count != 1)}"
