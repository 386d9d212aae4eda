"""Writes the HTML report of a suite: one self-contained page."""

import json
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from bfc_bench.analysis.claims import Verdict, expected_errors
from bfc_bench.analysis.claims.verdict import SIGNS
from bfc_bench.analysis.curves import by_task
from bfc_bench.analysis.theory import Theories
from bfc_bench.report import axis_plots, section, tables
from bfc_bench.report.answers import answers
from bfc_bench.report.artifacts import show
from bfc_bench.report.headline import headline
from bfc_bench.report.page_figures import of_plugin
from bfc_bench.report.style import assign
from bfc_bench.report.tables import ReportTable, TableCell, estimate, listing, worst
from bfc_bench.report.template import template
from bfc_bench.report.vega import library, page_script
from bfc_bench.store.row import Row, flat
from bfc_bench.store.row_origin import origin_remarks
from bfc_bench.store.rows import Rows
from bfc_bench.tasks.base import DataSet
from bfc_bench.utils.command_lines import without_folders
from bfc_bench.utils.files import inside, make_folder, write_file
from bfc_bench.version import __version__

FIRST_ANSWERS = 6
"""Up to so many tasks have their answer in the first screen, and their figures and tables open; others are folded."""
LARGE = 50_000
"""The page of more rows is an index: each task has its learning curves and N*, and the rest on request."""
PROBLEMS = {"status": "status", "task": "task", "label": "learner", "reason": "reason", "cells": "cells", "d": "d",
            "n": "n"}  # fmt: skip
CELLS = {"label": "learner", "cpu_seconds": "CPU s", "largest_n": "largest n", "peak_memory_mb": "peak memory, MB",
         "cpu_seconds_at_largest_n": "CPU s per cell at the largest n"}  # fmt: skip
WITH_SQUARES = "with_squares: the input is (x, x² - E x²), so that a polynomial kernel of degree 2 has degree 4 in x."
CLAIMS = ["claim", "verdict", "statement", "estimate, 95 %", "claimed", "R", "p", "Holm p"]


def write_report(
    directory: Path,
    *,
    suite: Mapping[str, Any],
    rows: Sequence[Row],
    sessions: Sequence[Mapping[str, Any]] = (),
    levels: Sequence[float] = tables.LEVELS,
    extra_figures: Mapping[str, Mapping[str, Any] | bytes] | None = None,
    verdicts: Sequence[Verdict] = (),
    theories: Theories | None = None,
    artifacts: Sequence[tuple[Row, Mapping[str, Path]]] = (),
    key: str = "",
    complete: bool = False,
) -> Path:
    """Write ``report.html`` into ``directory``, and beside it the artifacts that do not fit into the page.

    The page is written last, so that it is never newer than these. Returns its path.

    Args:
        suite: Definition of the suite as plain data.
        rows: At most one row per (task, d, label, n, replicate).
        sessions: The store's records of the runs.
        extra_figures: Figures of plugins by name: Vega-Lite's JSON objects or SVGs.
        artifacts: Rows with their artifacts by name, as ``Store.artifacts`` gives them.
        key: Key that ``report.source_key.key_of`` reads from the page.
        complete: Whether each task has all its figures and tables, even if there are more than ``LARGE`` rows.

    Raises:
        OutputError: A file cannot be written.
    """
    make_folder(directory)
    rows = Rows.of(rows)
    measured = rows.distinct("label")
    statuses, finished = Counter(rows.column("status")), rows.number("finished_at")
    definitions = {task["name"]: _definition(task) for task in suite.get("task", ())}
    groups = by_task(rows)
    named = (entry.get("label") or entry.get("name", "") for entry in suite.get("learner", ()))
    labels = [*(label for label in named if label in measured), *measured]
    styles = assign(labels, [group.distinct("label") for group in groups.values()])
    sections = [
        section.build(
            name,
            groups[name],
            definitions.get(name, {}),
            styles,
            levels=levels,
            asymptotic=_asymptotic(suite, name),
            theories=theories,
            brief=len(rows) > LARGE and not complete,
        )
        for name in dict.fromkeys([*(name for name in definitions if name in groups), *groups])
    ]
    setup = {key: suite[key] for key in ("seed", "replicates", "test_size", "levels", "budget") if key in suite}
    cells = show(directory, artifacts)
    for part in sections:
        part.artifacts = {label: cells[part.name, label] for label in styles if (part.name, label) in cells}
    page = template("report.html", library(), page_script(), flat=flat_texts, shell=shlex.quote).render(
        key=key,
        suite=suite,
        release=__version__,
        verdicts={word: sum(v.verdict == word for v in verdicts) for word in SIGNS} if verdicts else {},
        answers=answers(sections),
        first_answers=FIRST_ANSWERS,
        headline=headline(suite, verdicts, sections),
        command=_command(suite, sessions),
        setup=flat_texts(setup),
        rows=rows,
        origins=origin_remarks(rows),
        styles=styles,
        statuses={status: statuses[status] for status in tables.STATUSES if statuses[status]},
        cpu_seconds=tables.cpu_seconds(rows),
        finished_at=max(finished[finished > 0].tolist(), default=None),
        cells=_cells(rows, [part.name for part in sections], list(styles)),
        learners=_learners(rows, list(styles)),
        sections=sections,
        folded=len(sections) > FIRST_ANSWERS,
        axes=axis_plots.axis_sections([curve for part in sections for curve in part.curves], levels, styles),
        extra=[of_plugin(figure, name) for name, figure in (extra_figures or {}).items()],
        claims=_claims(verdicts),
        signs=SIGNS,
        expected_errors=expected_errors(verdicts),
        problems=listing("", tables.problem_table(rows), PROBLEMS),
        sessions=[(session, flat_texts(_shown(session.get("provenance", {})))) for session in sessions],
    )
    write_file(inside(directory, "report.html"), page.encode())
    return directory / "report.html"


def flat_texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Nested settings as flat texts: ``{"budget.memory_gb": "8"}``."""
    return {key: setting_text(value) for key, value in flat(values).items()}


def setting_text(value: Any) -> str:
    """Text as it is, None as a dash, anything else as JSON."""
    if value is None:
        return tables.MISSING
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _command(suite: Mapping[str, Any], sessions: Sequence[Mapping[str, Any]]) -> str:
    """The command that made the rows, if recorded, else the plain ``run``."""
    commands = [session.get("provenance", {}).get("command", "") for session in sessions]
    own_commands = [command for command in commands if command.startswith("bfc-bench ")]
    return without_folders(own_commands[-1]) if own_commands else f"bfc-bench run {suite.get('name', 'SUITE')}"


def _definition(task: Mapping[str, Any]) -> dict[str, Any]:
    """What a task sets, with files by their names alone: a suite that was read has absolute paths."""
    fields = {key: value for key, value in task.items() if key != "name" and value is not None}
    if isinstance(data := fields.get("data"), Mapping):
        fields["data"] = {
            key: PurePath(value).name if DataSet.is_path(key) and isinstance(value, str) else value
            for key, value in data.items()
        }
    return fields


def _shown(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The provenance of a run without the folders of its machine."""
    return {name: without_folders(value) if name == "command" else value for name, value in provenance.items()}


def _asymptotic(suite: Mapping[str, Any], task: str) -> dict[str, float]:
    """Asymptotic exponents of N* that the suite's claims state, by label."""
    claims = (claim for claim in suite.get("claim", ()) if claim.get("task") == task)
    return {claim["label"]: claim["asymptotic"] for claim in claims if claim.get("asymptotic") is not None}


def _cells(rows: Rows, tasks: Sequence[str], labels: Sequence[str]) -> ReportTable:
    records = sorted(tables.cells_table(rows), key=lambda of: (tasks.index(of["task"]), labels.index(of["label"])))
    note = "CPU time includes tuning. Cells that were trained together share it equally."
    return listing("", records, {name: CELLS.get(name, name) for name in (records[0] if records else ())}, note)


def _learners(rows: Rows, labels: Sequence[str]) -> ReportTable:
    of = {label: group for (label,), group in rows.groups("label").items()}
    records = [
        {"label": x, "learner": of[x].distinct("learner")[0], "options": setting_text(of[x].distinct("options")[0])}
        for x in labels
    ]
    names = {"label": "learner", "learner": "plugin", "options": "options (tuned ones may differ)"}
    return listing(
        "", records, names, WITH_SQUARES * any('"with_squares": true' in each["options"] for each in records)
    )


def _claims(verdicts: Sequence[Verdict]) -> ReportTable:
    lines = [
        [
            TableCell(verdict.id, verdict.source, kind="text"),
            TableCell(verdict.verdict, verdict.aside, kind="verdict"),
            TableCell(verdict.statement, "", tuple(filter(None, (verdict.when, verdict.note))), "text"),
            estimate(verdict.estimate, verdict.lo, verdict.hi, *worst(verdict.worst)),
            TableCell(verdict.region),
            TableCell(str(verdict.replicates)),
            TableCell(tables.number(verdict.p)),
            TableCell(tables.number(verdict.holm_p)),
        ]
        for verdict in verdicts
    ]
    return ReportTable("", CLAIMS, lines)
