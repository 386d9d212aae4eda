"""Describes parquet files of rows as Croissant 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-spec-1.0.html).

Croissant is the vocabulary of MLCommons for data sets, as JSON-LD: which files there are, and the name, the meaning and
the type of each column.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from typing import Any

from bfc_bench.bundle.metadata import KEYWORDS, PAPERS, PROJECT, About, licence_address
from bfc_bench.reference import texts_below_fields
from bfc_bench.store.row import AXES, Row

FILE = "croissant.json"
"""The name of the file."""
PARQUET = "application/x-parquet"
_BESIDE = {
    "written": "Names of the columns that the JSON of the row has, in its order, with commas between them.",
    "json": "The JSON of the row if it cannot be made again from the columns, else empty.",
    "task_digest": "Digest of the definition of the task that the row was made under.",
    "learner_digest": "Digest of the definition of the learner that the row was made under.",
    "row_digest": "Digest of the row: eight bytes of BLAKE2b.",
}
"""Meaning of the columns that a bundle has beside those of ``Row``."""
_TYPES = {"int64": "sc:Integer", "double": "sc:Float"}
"""Data types by those of Arrow; the others are texts. Croissant has none for bytes."""
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context that the specification prescribes."""


def croissant(about: About, tables: Mapping[str, bytes | memoryview]) -> dict[str, Any]:
    """The metadata of parquet files of rows, with one set of records for each file and one field for each column.

    Args:
        about: Title, authors, licence, date and description.
        tables: Contents of the files by path, relative to the folder of the metadata.
    """
    year, month, day = map(int, about.date.split("-"))
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": about.title,
        "description": about.description,
        "license": licence_address(about.licence),
        "url": PROJECT,
        "creator": [{"@type": "sc:Person", "name": name} for name in about.authors],
        "datePublished": about.date,
        "version": f"{year}.{month}.{day}",
        "keywords": [*KEYWORDS, *PAPERS],
        "citeAs": f"@misc{{bfc-bench-{year}, title = {{{about.title}}}, author = {{{' and '.join(about.authors)}}}, "
        f"year = {{{year}}}}}",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": path,
                "name": path,
                "contentUrl": path,
                "contentSize": f"{len(content)} B",
                "encodingFormat": PARQUET,
                "sha256": sha256(content).hexdigest(),
            }
            for path, content in sorted(tables.items())
        ],
        "recordSet": [_records(path, content) for path, content in sorted(tables.items())],
    }


def _records(path: str, content: bytes | memoryview) -> dict[str, Any]:
    """The set of records in a parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    name = path.removesuffix(".parquet")
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": "One row per cell: a learner on a task, at a dimension d, a sample size n and a replicate.",
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column.name}",
                "name": column.name,
                "description": meaning(column.name),
                "dataType": _TYPES.get(str(column.type), "sc:Text"),
                "source": {"fileObject": {"@id": path}, "extract": {"column": column.name}},
            }
            for column in parquet.read_schema(pa.BufferReader(content))
        ],
    }


@cache
def _meanings() -> dict[str, str]:
    return {**texts_below_fields(Row), **_BESIDE}


def meaning(column: str) -> str:
    """What a column of rows means, in one paragraph.

    Args:
        column: Its name; ``axes.NAME`` for an axis and ``metrics.NAME`` for a nested value.
    """
    name, dot, entry = column.partition(".")
    if not dot:
        return _meanings()[name].replace("``", "`")
    return f"Value on the axis {entry}." if name == AXES[:-1] else f"The value {entry} in {name}. {meaning(name)}"
