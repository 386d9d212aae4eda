"""Arguments and options that several verbs share."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from bfc_bench import DEFAULT_STORE

SuiteArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="SUITE", help="Name of a suite, or path of a suite file.")
]
StoreOption: TypeAlias = Annotated[
    Path, typer.Option("--store", metavar="DIR", envvar="BFC_BENCH_STORE", help="Directory of the results.")
]
SetOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a value of the suite, e.g. replicates=2. Repeatable."),
]
LearnerOption: TypeAlias = Annotated[
    list[str] | None, typer.Option("--learner", metavar="NAME", help="Only this learner or label. Repeatable.")
]
TaskOption: TypeAlias = Annotated[
    list[str] | None, typer.Option("--task", metavar="NAME", help="Only this task. Repeatable.")
]
DeviceOption: TypeAlias = Annotated[
    str, typer.Option("--device", metavar="auto|cpu|cuda", help="Where learners compute.")
]
UriOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--tracking-uri", envvar="MLFLOW_TRACKING_URI", help="MLflow server or database; the store's own by default."
    ),
]
STORE = Path(DEFAULT_STORE)


def workers(jobs: int | None) -> int:
    """The number of workers: as asked, else one per core that this process may use."""
    return jobs or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else jobs or os.cpu_count() or 1


def print_json(records: Sequence[Mapping[str, Any]]) -> None:
    """Print flat records as JSON; numbers that are not finite, which JSON has no word for, are null."""
    plain = [{k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in r.items()} for r in records]
    print(json.dumps(plain, indent=1, ensure_ascii=False))
