"""What the documentation shows works as it stands there: every block is run, or says why it is not."""

import os
import re
import shlex
import sys
import tomllib
from functools import cache
from importlib import import_module

import pytest
from installed_faulty import python_path
from pages import MARKS, ONE_SCRIPT, PAGES, ROOT, VERBATIM, blocks, name
from typer.main import get_command
from waiting import completed

from bfc_bench.analysis.claims import parse_claims
from bfc_bench.cli.app import app_of
from bfc_bench.plugins.builtin import own
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.suite.model import LearnerEntry, Suite, TaskEntry
from bfc_bench.toolkit.xla import VARIABLE, with_instructions

BLOCKS = [block for page in PAGES for block in blocks(page)]
SLOW = {
    *("docs/tutorials/learner.md", "docs/tutorials/data.md", "docs/how-to/index.md", "docs/how-to/extend.md"),
    *("docs/how-to/publish.md", "docs/gallery.md"),
}
"""Pages with many commands."""
QUICKLY = 'if [ "$1" = run ]; then set -- "$@" --no-mlflow --jobs 1; fi'
"""What runs here leave away; tests/suites/test_smoke.py has it."""
DIRECTIVES = ("{toctree}", "{include}", "{literalinclude}", "{eval-rst}")
"""Of the site: nothing to run."""
RUN = [
    pytest.param(page, id=name(page), marks=[pytest.mark.slow] * (name(page) in SLOW))
    for page in PAGES
    if any(block.language in ("python", "console") and block.mark != "not run" for block in blocks(page))
]


class Reader:
    """Somebody who does what a page says, in a folder of their own."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "bin").mkdir()
        for command, call, first in (("bfc-bench", "-m bfc_bench", QUICKLY), ("python", "", ""), ("python3", "", "")):
            shim = folder / "bin" / command
            shim.write_text(f'#!/bin/sh\n{first}\nexec {shlex.quote(sys.executable)} {call} "$@"\n')
            shim.chmod(0o755)
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("MLFLOW", "BFC_BENCH"))},
            "PATH": os.pathsep.join([str(folder / "bin"), os.environ["PATH"]]),
            "PYTHONPATH": python_path(folder / "site"),
            "OMP_NUM_THREADS": "1",
            VARIABLE: with_instructions(""),  # readers have not named any
            "MLFLOW_DISABLE_TELEMETRY": "true",
        }

    def do(self, block, text):
        """Write what is a file, run what is not."""
        if block.mark == "file":
            path = self.folder / block.said
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif block.language == "python":
            script = self.folder / f"line_{block.line}.py"
            script.write_text(text)
            self.run(block, [sys.executable, "-W", "error::UserWarning", str(script)])
        else:
            commands = block.said.split("; ") if block.mark == "run as" else block.commands
            self.run(block, ["bash", "-e", "-c", "\n".join(commands)])

    def run(self, block, command):
        done = completed(command, cwd=self.folder, env=self.environment, timeout=600)
        assert done.returncode == 0, f"{block}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


@pytest.mark.parametrize("page", RUN)
def test_a_page_can_be_followed_from_top_to_bottom(page, tmp_path):
    reader, found = Reader(tmp_path), [block for block in blocks(page) if block.mark not in ("not run", "run by")]
    scripts = [block for block in found if block.language == "python" and block.mark != "file"]
    together = ONE_SCRIPT in page.read_text()
    for block in found:
        if block.mark == "file" or block.language == "console" or (block in scripts and not together):
            reader.do(block, block.text)
    if together:
        reader.do(scripts[0], "\n".join(block.text for block in scripts))


def test_every_block_has_a_language_that_says_what_to_do_with_it():
    known = {"python", "console", "toml", *VERBATIM, *DIRECTIVES}
    assert [f"{block}: {block.language!r}" for block in BLOCKS if block.language not in known] == []


def test_marks_are_understood_and_stand_before_a_block():
    for page in PAGES:
        written = re.findall(rf"^ *<!-- ({'|'.join(MARKS)}):", page.read_text(), flags=re.MULTILINE)
        assert len(written) == sum(bool(block.mark) for block in blocks(page)), page


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "console"], ids=str)
def test_commands_exist_with_their_options(block):
    """Those too that are not run here."""
    for command in block.commands:
        for words in (re.split(r"\s+--\s+", part)[-1].split("#")[0] for part in re.split(r"&&|\|", command)):
            spelt = shlex.split(words)
            if spelt[:1] == ["bfc-bench"] and len(spelt) > 1 and not spelt[1].startswith("-"):
                options = _options(spelt[1])
                given = [word.partition("=")[0] for word in spelt[2:] if word.startswith("--")]
                assert [option for option in given if option not in options] == [], command
            elif spelt[:2] in (["python", "-m"], ["python3", "-m"]) and spelt[2].startswith("benchmarks"):
                path = ROOT / spelt[2].replace(".", "/")
                assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), command


@cache
def _options(verb):
    return {"--help", *_of(get_command(app_of(verb, own("verb")[verb])))}


def _of(command):
    """The options of a command and of those below it."""
    found = {option for held in command.params for option in (*held.opts, *held.secondary_opts)}
    return found.union(*map(_of, getattr(command, "commands", {}).values()))


@pytest.fixture(scope="module")
def plugins():
    return load_plugins()


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "toml"], ids=str)
def test_suites_and_parts_of_suites_are_what_a_suite_may_hold(block, plugins):
    """A whole suite, a task, a learner, a claim, the keys of a claim; or a part of a pyproject.toml."""
    held, where = tomllib.loads(block.text), str(block)
    if "project" in held:
        assert held["project"]["entry-points"]["bfc_bench"]
        return
    if "kind" in held:
        held = {"claim": [held]}
    if {"name", "task", "learner"} <= held.keys():
        parse_claims(Suite.parse(held, where), plugins.claims, where)
        held["claim"] = []
    else:
        assert held.keys() <= {"task", "learner", "claim", "executor"}, f"{block}: not a part of a suite"
    for task in held.get("task", []):
        parts = {"inputs": plugins.inputs, "target": plugins.targets, "labels": plugins.labels, "data": plugins.data}
        for entry in TaskEntry.parse(task, where).members():
            for part, registry in parts.items():
                _parse(registry, getattr(entry, part), block)
    for learner in held.get("learner", []):
        for entry in LearnerEntry.parse(learner, where).members():
            if entry.name in plugins.learners:
                plugins.learner(entry.name).parse(entry.options, where)
    for claim in held.get("claim", []):
        _parse(plugins.claims, {"id": "id", **claim}, block)


def _parse(registry, options, block):
    if options is None:
        return
    values = dict(options)
    kind = values.pop("kind")
    if kind in registry:
        registry.get(kind).parse(values, str(block))
    else:
        assert re.search(rf"bfc-bench new \w+ {kind}$", block.page.read_text(), re.MULTILINE), f"{block}: {kind}"


def test_what_pages_are_filled_with_is_there(plugins, monkeypatch):
    """Every name that plugins register, every suite with its cells, every verb, the notebook's code."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    fill = import_module("fill").fill
    pages = {
        name(page): fill(page.read_text(), ROOT / "docs", "") for page in PAGES if page.is_relative_to(ROOT / "docs")
    }
    assert not [page for page, text in pages.items() if "<!-- fill:" in text]
    titles = {title for text in pages.values() for title in re.findall(r"^## (.+)$", text, re.MULTILINE)}
    known = {
        entry
        for registry in plugins.registries.values()
        if registry.kind not in ("plot", "listener")
        for entry in registry
    }
    assert known | set(own("verb")) - titles <= {*titles, "data", "new"}
    assert "- **runs**: 132 cells: 2 tasks, 8 learners, 3 replicates" in pages["docs/reference/suites.md"]
    assert "`number >= 0`" in pages["docs/reference/learners.md"]
    assert "bb.run_suite(suite" in pages["docs/tutorials/notebook.md"]


def test_every_page_is_in_the_list_of_pages():
    docs = ROOT / "docs"
    listed = set(re.findall(r"^(?:<!-- if there: )?([\w/-]+)(?: -->)?$", (docs / "index.md").read_text(), re.MULTILINE))
    pages = {page.relative_to(docs).with_suffix("").as_posix() for page in PAGES if page.is_relative_to(docs)}
    assert pages - listed == {"index"}


def test_every_public_name_is_in_the_api_reference():
    import bfc_bench
    from bfc_bench.analysis import claims

    text = (ROOT / "docs" / "reference" / "api.md").read_text()
    described = set(re.findall(r"^\.\. auto\w+:: (\w+)$", text, re.MULTILINE))
    assert set(bfc_bench.__all__) - described == {"__version__", "hookimpl"}
    assert described <= {*bfc_bench.__all__, *claims.__all__}
