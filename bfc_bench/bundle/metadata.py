"""Files of a bundle that other programs read: RO-Crate 1.1, CITATION.cff 1.2.0, Zenodo's metadata, the environments."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from bfc_bench.errors import UsageError
from bfc_bench.utils.plain_json import canonical_json

PROJECT = "https://bfc-bench.github.io/bfc-bench"
"""The site of the project."""
LICENCE = "CC-BY-4.0"
"""The licence of results for which no other one is named."""
ANONYMOUS = ("Anonymous",)
"""The authors of results for which none is named."""
_LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,60}")

SOFTWARE = "#bfc-bench"
PAPERS = ("arXiv:2001.04413", "arXiv:2006.13436")
KEYWORDS = ("sample complexity", "benchmark", "hierarchical learning", "learning curves")
TYPES = {
    ".parquet": "application/vnd.apache.parquet",
    ".json": "application/json",
    ".cff": "text/yaml",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
"""Media types by suffix."""
_MACHINE = ("platform", "processor", "cores", "device", "python", "packages", "precision", "threads_per_worker")


@dataclass(frozen=True)
class About:
    """What a bundle says of itself."""

    title: str
    authors: Sequence[str]
    licence: str
    """Identifier of the licence in the SPDX list."""
    finished_at: float
    """Unix time in seconds of the last row, which is the date of the bundle."""
    description: str

    @property
    def date(self) -> str:
        """The day of the last row, in UTC."""
        return datetime.fromtimestamp(self.finished_at, UTC).date().isoformat()


def check_licence(licence: str) -> None:
    """Raise ``UsageError`` for a licence that is no identifier of the SPDX list."""
    if not _LICENCE.fullmatch(licence):
        raise UsageError(f"--license must be an identifier of the SPDX list, such as {LICENCE}. Got {licence!r}.")


def licence_address(licence: str) -> str:
    """The page of a licence in the SPDX list."""
    return f"https://spdx.org/licenses/{licence}"


def environments(sessions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The distinct machines and releases of runs, with the number of runs and the packages as requirements of pip."""
    counts: Counter[str] = Counter()
    for session in sessions:
        facts = session["provenance"]
        counts[canonical_json({name: facts[name] for name in _MACHINE if name in facts})] += 1
    found = []
    for text, count in sorted(counts.items()):
        facts = json.loads(text)
        packages = facts["packages"] if isinstance(facts.get("packages"), dict) else {}
        pinned = [f"{name}=={release}" for name, release in sorted(packages.items()) if release]
        found.append({**facts, "runs": count, "requirements": pinned})
    return found


def ro_crate(about: About, files: Mapping[str, bytes]) -> dict[str, Any]:
    """The metadata of an RO-Crate 1.1 (https://w3id.org/ro/crate/1.1) with these files.

    Args:
        about: Title, authors, licence and date.
        files: Contents by name.
    """
    licence = licence_address(about.licence)
    people = [{"@id": f"#author-{number}"} for number, _ in enumerate(about.authors, 1)]
    parts = [
        {
            "@id": name,
            "@type": "File",
            "name": name,
            "encodingFormat": TYPES.get(name[name.rfind(".") :], "application/json"),
            "contentSize": str(len(content)),
        }
        for name, content in sorted(files.items())
    ]
    graph: list[dict[str, Any]] = [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": about.title,
            "description": about.description,
            "datePublished": about.date,
            "license": {"@id": licence},
            "author": people,
            "keywords": ", ".join(KEYWORDS),
            "hasPart": [{"@id": part["@id"]} for part in parts],
        },
        {"@id": licence, "@type": "CreativeWork", "name": about.licence, "url": licence},
        *(
            {"@id": person["@id"], "@type": "Person", "name": name}
            for person, name in zip(people, about.authors, strict=True)
        ),
        {"@id": SOFTWARE, "@type": "SoftwareApplication", "name": "bfc-bench", "version": version("bfc-bench")},
        {
            "@id": "#run",
            "@type": "CreateAction",
            "name": "Runs of the suites",
            "endTime": about.date,
            "instrument": {"@id": SOFTWARE},
            "result": [{"@id": part["@id"]} for part in parts if part["@id"].endswith(".parquet")],
        },
        *parts,
    ]
    return {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}


def citation_cff(about: About) -> bytes:
    """A CITATION.cff (https://citation-file-format.github.io, 1.2.0). Texts are quoted as in JSON, as YAML allows."""
    quoted = json.dumps
    lines = [
        "cff-version: 1.2.0",
        "message: If you use these results, please cite them and the papers whose claims they test.",
        "type: dataset",
        f"title: {quoted(about.title)}",
        f"abstract: {quoted(about.description)}",
        f"license: {quoted(about.licence)}",
        f"date-released: {about.date}",
        "authors:",
        *(f"  - name: {quoted(name)}" for name in about.authors),
        "keywords:",
        *(f"  - {keyword}" for keyword in KEYWORDS),
        "identifiers:",
        *(f"  - type: other\n    value: {paper}\n    description: a paper whose claims are tested" for paper in PAPERS),
    ]
    return "\n".join([*lines, ""]).encode()


def zenodo(about: About) -> dict[str, Any]:
    """Metadata of a deposit at Zenodo (https://developers.zenodo.org/#representation)."""
    return {
        "title": about.title,
        "upload_type": "dataset",
        "description": about.description,
        "creators": [{"name": name} for name in about.authors],
        "license": about.licence.lower(),
        "publication_date": about.date,
        "keywords": list(KEYWORDS),
        "related_identifiers": [
            {"identifier": paper, "relation": "references", "resource_type": "publication-preprint"} for paper in PAPERS
        ],
    }
