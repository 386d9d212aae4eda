"""Writes the results of suites in a store as a bundle."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bfc_bench.errors import StoreError, UsageError
from bfc_bench.extras.bundle.archive import CITATION, CLAIMS, write_archive
from bfc_bench.store.records import PROVENANCE, ROW, TABLES, TRACEBACK, Record, insert, records_of
from bfc_bench.store.store import Store
from bfc_bench.store.unpacking import STORE
from bfc_bench.stored_suite import OpenStore, StoredSuite
from bfc_bench.utils.command_lines import without_folders
from bfc_bench.utils.escape_control import with_texts
from bfc_bench.utils.masking import masker
from bfc_bench.utils.plain_json import canonical_json, finite, readable_json

LICENCE = "CC-BY-4.0"
"""The licence of results for which no other one is named."""
_LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,60}")
_FOLDER = re.compile(r"(?<![\w.:/])(/(?:home|root|Users|tmp|mnt|data|scratch|work|srv|opt)/[^\s'\",;:)\]}]+)")
"""Paths of a machine in texts."""


@dataclass
class Bundled:
    """What a bundle holds."""

    digest: str
    suites: int
    rows: int = 0
    folders: dict[tuple[str, int], str] = field(default_factory=dict)
    """A folder of a machine that the results of a suite name, by its name and version."""


def bundle(
    store: OpenStore,
    names: Sequence[str],
    to: Path,
    *,
    title: str = "",
    authors: Sequence[str] = (),
    licence: str = LICENCE,
) -> Bundled:
    """Write suites of a store as a bundle.

    It has all rows of the suites, their runs, and the claims of their present files with verdicts.
    Tracebacks, artifacts, credentials and folders in command lines are left out.
    """
    if not _LICENCE.fullmatch(licence):
        raise UsageError(f"--license must be an identifier of the SPDX list, such as {LICENCE}. Got {licence!r}.")
    suites = _chosen(store, names)
    if not suites:
        raise StoreError(f"The store in {store.store.directory} holds no suite. Run one first.")
    claims = list(map(_judged, suites))
    done = Bundled("", len(suites))
    content = _copied(store.store, [(suite.name, suite.version) for suite in suites], done)
    facts = [facts_of(suite, claim["verdicts"]) for suite, claim in zip(suites, claims, strict=True)]
    names = [f"{suite.name}@{suite.version}" for suite in suites]
    last = max((row.finished_at or 0.0 for suite in suites for row in suite.each(every=True)), default=0.0)
    about = {
        "title": title or f"Results of {', '.join(names) if len(names) <= 3 else f'{len(names)} suites'} of bfc-bench",
        "authors": list(authors or ("Anonymous",)),
        "license": licence,
        "date": datetime.fromtimestamp(last, UTC).date().isoformat(),
        "suites": facts,
    }
    files = {STORE: content, CLAIMS: readable_json(claims), CITATION: _citation(about)}
    done.digest = write_archive(to, files, about)
    return done


def _judged(suite: StoredSuite) -> dict[str, Any]:
    """The suite whose claims are judged, with the seed of its last run, and their verdicts."""
    verdicts = [finite(verdict.as_dict(), infinite=True) for verdict in suite.claims()]
    return {"definition": {**suite.suite.definition(), "seed": suite.definition["seed"]}, "verdicts": verdicts}


def _chosen(store: OpenStore, names: Sequence[str]) -> list[StoredSuite]:
    """The suites, each once; without names all, judged by their present files where these have the same version."""
    if names:
        return list({(suite.name, suite.version): suite for suite in map(store.__getitem__, names)}.values())
    chosen = []
    for name, version in sorted(store.store.suites()):
        present = store.get(name)
        chosen.append(present if present and present.version == version else store[f"{name}@{version}"])
    return chosen


def _copied(store: Store, suites: Sequence[tuple[str, int]], done: Bundled) -> bytes:
    """The file of a store with these suites alone."""
    with TemporaryDirectory(prefix="bfc-bench-") as folder:
        with Store(Path(folder), write=True) as copy:
            with copy.transaction() as db, store.snapshot():
                for suite, table in product(suites, TABLES):
                    for record in records_of(store, table, suite):
                        insert(db, table, public := _public(table, record))
                        done.rows += table == "rows"
                        if named := _FOLDER.search(str(public[ROW] if table == "rows" else public)):
                            done.folders.setdefault(suite, named[1])
            copy.connection.execute("PRAGMA journal_mode = DELETE").fetchone()
            copy.connection.execute("VACUUM")
        return Path(folder, STORE).read_bytes()


def _public(table: str, record: Record) -> Record:
    """A record without its traceback, or without credentials and the folders in its command line."""
    if table == "rows":
        return (*record[:TRACEBACK], "", *record[TRACEBACK + 1 :])
    if table != "sessions":
        return record
    provenance = with_texts(json.loads(record[PROVENANCE]), masker())
    command = without_folders(str(provenance.get("command", "")))
    return (*record[:PROVENANCE], canonical_json({**provenance, "command": command}))


def facts_of(suite: StoredSuite, verdicts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a manifest says of a suite."""
    return {
        "name": suite.name,
        "version": suite.version,
        "seed": suite.definition["seed"],
        "statuses": dict(Counter(row.status for row in suite.each(every=True))),
        "claims": dict(Counter(str(verdict["verdict"]) for verdict in verdicts)),
    }


def _citation(about: Mapping[str, Any]) -> bytes:
    """A CITATION.cff (https://citation-file-format.github.io, 1.2.0), with YAML that is written as JSON."""
    papers = ("arXiv:2001.04413", "arXiv:2006.13436")
    tested = "a paper whose claims are tested"
    return readable_json(
        {
            "cff-version": "1.2.0",
            "message": "If you use these results, please cite them and the papers whose claims they test.",
            "type": "dataset",
            "title": about["title"],
            "license": about["license"],
            "date-released": about["date"],
            "authors": [{"name": name} for name in about["authors"]],
            "identifiers": [{"type": "other", "value": paper, "description": tested} for paper in papers],
        }
    )
