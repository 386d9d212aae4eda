"""Writes the results of suites in a store as a bundle."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic_core import from_json

from bfc_bench.analysis.claims.verdict import verdict_record
from bfc_bench.bundle.archive import CLAIMS, LOOKS, ROWS, RUNS, SUITE, folder_of, write_archive
from bfc_bench.bundle.croissant import FILE, croissant
from bfc_bench.bundle.metadata import (
    ANONYMOUS,
    LICENCE,
    About,
    check_licence,
    citation_cff,
    environments,
    ro_crate,
    zenodo,
)
from bfc_bench.bundle.row_table import rows_to_parquet
from bfc_bench.errors import StoreError
from bfc_bench.store.gate import row_is_acceptable, row_is_unchanged
from bfc_bench.store.merge import Record, records_of
from bfc_bench.stored_suite import OpenStore, StoredSuite
from bfc_bench.utils.command_lines import without_folders
from bfc_bench.utils.masking import mask_all, masker
from bfc_bench.utils.plain_json import readable_json

_FOLDER = re.compile(r"(?<![\w.:/])(/(?:home|root|Users|tmp|mnt|data|scratch|work|srv|opt)/[^\s'\",;:)\]}]+)")
"""Paths of a machine in texts."""


@dataclass
class Bundled:
    """What a bundle holds."""

    digest: str
    suites: int
    rows: int
    remarks: list[str] = field(default_factory=list)
    """What was left out, and what the bundle says of this machine, a line each."""


def bundle(
    store: OpenStore,
    names: Sequence[str],
    to: Path,
    *,
    title: str = "",
    authors: Sequence[str] = (),
    licence: str = LICENCE,
    figures: bool = True,
) -> Bundled:
    """Write suites of a store as a bundle.

    It has all rows of the suites, their runs and looks, the claims of their present files with verdicts, figures and
    metadata. Tracebacks and artifacts are left out, and folders in command lines. Equal stores give equal bytes.

    Args:
        store: The store.
        names: Suites by name or NAME@VERSION; empty means all.
        to: The file.
        title: Title to cite; by default it names the suites.
        authors: Names of the authors, in their order.
        licence: Identifier of the licence of the results in the SPDX list.
        figures: Whether to draw the figures of the report.

    Raises:
        UsageError: The licence is no identifier.
        StoreError: The store lacks a suite, or has none.
        OutputError: The file cannot be written.
    """
    check_licence(licence)
    suites = _chosen(store, names)
    if not suites:
        raise StoreError(f"The store in {store.store.directory} holds no suite. Run one first.")
    files: dict[str, bytes] = {}
    facts, sessions, remarks, last = [], [], list[str](), 0.0
    for suite in suites:
        runs = list(map(_without_folders, suite.sessions))
        rows, lacking = _rows(suite)
        verdicts = [verdict_record(verdict.as_dict()) for verdict in suite.claims()]
        contents = {
            ROWS: rows_to_parquet(rows),
            SUITE: readable_json(judged_suite(suite)),
            RUNS: readable_json({"runs": runs, "current": _current(suite)}),
            LOOKS: readable_json(suite.store.looks.of(suite.name, suite.version)),
            CLAIMS: readable_json(verdicts),
            **(dict(_figures(suite)) if figures else {}),
        }
        files |= {f"{folder_of(suite.name, suite.version)}/{name}": content for name, content in contents.items()}
        facts.append(_facts(suite, rows, runs, verdicts))
        sessions += runs
        last = max([last, *(_values(record)["finished_at"] or 0.0 for record in rows)])
        remarks += [f"{suite.name}@{suite.version}: {lacking} rows were changed or are unreadable and are left out"] * (
            lacking > 0
        )
        remarks += _folders_left(suite, runs, rows)
    about = About(title or _title(suites), authors or ANONYMOUS, licence, last, _description(facts))
    files["environment.json"] = readable_json(environments(sessions))
    files["CITATION.cff"] = citation_cff(about)
    files[".zenodo.json"] = readable_json(zenodo(about))
    tables = {name: content for name, content in files.items() if name.endswith(f"/{ROWS}")}
    files[FILE] = readable_json(croissant(about, tables))
    files["ro-crate-metadata.json"] = readable_json(ro_crate(about, files))
    said = {"title": about.title, "authors": list(about.authors), "license": licence, "date": about.date}
    digest = write_archive(to, files, {**said, "suites": facts})
    return Bundled(digest, len(suites), sum(sum(fact["statuses"].values()) for fact in facts), remarks)


def judged_suite(suite: StoredSuite) -> dict[str, Any]:
    """The suite whose claims are judged, with the seed of its last run."""
    return {**suite.suite.definition(), "seed": suite.definition["seed"]}


def _chosen(store: OpenStore, names: Sequence[str]) -> list[StoredSuite]:
    """The suites, each once; without names all, judged by their present files where these have the same version."""
    if names:
        return list({(suite.name, suite.version): suite for suite in map(store.__getitem__, names)}.values())
    chosen = []
    for name, version in sorted(store.store.suites()):
        present = store.get(name)
        usable = present is not None and present.version == version
        chosen.append(present if present is not None and usable else store[f"{name}@{version}"])
    return chosen


def _rows(suite: StoredSuite) -> tuple[list[Record], int]:
    """The records of all rows that fit their digest, without tracebacks, and the number of others."""
    kept, lacking = [], 0
    for record in records_of(suite.store, "rows", (suite.name, suite.version)):
        if row_is_unchanged(record) and row_is_acceptable(record):
            kept.append(record)
        else:
            lacking += 1
    return kept, lacking


def _values(record: Record) -> dict[str, Any]:
    """The columns of a row that say who made it and when."""
    values: dict[str, Any] = from_json(record[11])
    return {name: values.get(name) for name in ("provenance", "finished_at")}


def _current(suite: StoredSuite) -> list[dict[str, str]]:
    definitions = suite.store.sessions.definitions(suite.name, suite.version)
    return [{"kind": kind, "name": name, "digest": digest} for (kind, name), digest in sorted(definitions.items())]


def _without_folders(session: Mapping[str, Any]) -> dict[str, Any]:
    """A run without credentials, and without the folders in its command line."""
    provenance = mask_all(session["provenance"], masker())
    command = without_folders(str(provenance.get("command", "")))
    return {**session, "provenance": {**provenance, "command": command}}


def _figures(suite: StoredSuite) -> Iterator[tuple[str, bytes]]:
    """The figures of the report by name."""
    with TemporaryDirectory() as folder:
        suite.report(folder, figures=("svg",))
        for path in sorted(Path(folder, "figures").glob("*.svg")):
            yield f"figures/{path.name}", path.read_bytes()


def _facts(
    suite: StoredSuite, rows: Sequence[Record], runs: Sequence[Mapping[str, Any]], verdicts: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """What the manifest says of a suite: counts by status, release, device and machine, and of the verdicts."""
    machines = {
        run["id"]: " / ".join(
            str(run["provenance"][name]) for name in ("processor", "platform") if run["provenance"].get(name)
        )
        for run in runs
    }
    made = Counter(machines.get(_values(record)["provenance"]) or "unknown" for record in rows)
    return {
        "name": suite.name,
        "version": suite.version,
        "seed": suite.definition["seed"],
        "statuses": dict(Counter(str(record[8]) for record in rows)),
        "releases": dict(Counter(str(record[13]) for record in rows)),
        "devices": dict(Counter(str(record[14]) for record in rows)),
        "machines": dict(made),
        "claims": dict(Counter(str(verdict["verdict"]) for verdict in verdicts)),
    }


def _title(suites: Sequence[StoredSuite]) -> str:
    names = ", ".join(f"{suite.name}@{suite.version}" for suite in suites[:3])
    return f"Results of {names if len(suites) <= 3 else f'{len(suites)} suites'} of bfc-bench"


def _description(facts: Sequence[Mapping[str, Any]]) -> str:
    rows = sum(sum(fact["statuses"].values()) for fact in facts)
    claims = sum(sum(fact["claims"].values()) for fact in facts)
    named = ", ".join(f"{fact['name']}@{fact['version']} (seed {fact['seed']})" for fact in facts)
    return (
        f"{rows} rows and {claims} verdicts of bfc-bench on sample complexity: {named}. "
        "`bfc-bench verify FILE` computes the verdicts again from the rows, and runs some of the cells again."
    )


def _folders_left(suite: StoredSuite, runs: Sequence[Mapping[str, Any]], rows: Sequence[Record]) -> list[str]:
    """A line if reasons, options or definitions name folders, which belong to the results and are not removed."""
    texts = [*(str(record[11]) for record in rows), *(readable_json(run).decode() for run in runs)]
    found = {match[1] for text in texts for match in _FOLDER.finditer(text)}
    if not found:
        return []
    return [f"{suite.name}@{suite.version}: the results name folders of a machine, such as {min(found)}"]
