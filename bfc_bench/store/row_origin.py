"""Says where rows come from: the machine of a run, and several releases, devices or learner versions."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from bfc_bench.store.row import Origin, Row, Status
from bfc_bench.store.rows import Rows
from bfc_bench.utils.counted import counted
from bfc_bench.version import __version__

ORIGIN = ("release", "device", "learner_version")


def machine(provenance: Mapping[str, Any]) -> str:
    """Host, processor, number of cores and GPU of a run, as far as they are known."""
    cores, gpu = provenance.get("cores"), (provenance.get("precision") or {}).get("gpu")
    parts = (provenance.get("host"), provenance.get("processor"), f"{cores} cores" if cores else "", gpu)
    return ", ".join(filter(None, parts)) or "an unknown machine"


def origin_remarks(rows: Iterable[Row]) -> list[str]:
    """One line per remark; none if the installed release made all rows on one device by one version of each learner.

    The first lines count the rows of each release and device. The others list, for each label, the curves whose points
    have different origins, including learner versions.
    """
    rows = Rows.of(rows)
    tried = rows.where(status={*get_args(Status)} - {"skipped"})
    groups = tried.groups("release", "device")
    counts = Counter({Origin(release, device, None): len(group) for (release, device), group in groups.items()})
    alike = len(counts) < 2 and all(origin.release == __version__ for origin in counts)
    lines = [] if alike else [f"{counted(count, 'cell')} made by {origin}." for origin, count in counts.most_common()]
    origins = Counter((label, task, d) for label, task, d, *_ in tried.groups("label", "task", "d", *ORIGIN))
    mixed: dict[str, dict[str, list[int]]] = {}
    for (label, task, d), count in sorted(origins.items()):
        if count > 1:
            mixed.setdefault(label, {}).setdefault(task, []).append(d)
    for label, tasks in mixed.items():
        mixed_curves = ", ".join(f"{task} (d = {', '.join(map(str, dims))})" for task, dims in tasks.items())
        lines.append(f"Curves of {label} with points of different origins: {mixed_curves}.")
    return lines
