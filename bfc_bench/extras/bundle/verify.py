"""Verifies a bundle: its digests, verdicts that are computed again from the rows, and cells that are run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from bfc_bench.analysis.claims.verdict import Verdict
from bfc_bench.errors import describe_error
from bfc_bench.extras.bundle.archive import Manifest, read_bundle
from bfc_bench.extras.bundle.cells import Cells, Verification
from bfc_bench.extras.bundle.write import facts_of
from bfc_bench.report.tables import with_interval
from bfc_bench.store.equality import close
from bfc_bench.store.merge import merge
from bfc_bench.stored_suite import OpenStore, open_store
from bfc_bench.suite.model import Suite
from bfc_bench.utils.counted import counted
from bfc_bench.utils.plain_json import finite, readable_json

NUMBERS_AGREE = 1e-6
"""Relative difference up to which numbers of verdicts are equal, since releases of libraries round differently."""


def verify(
    path: Path,
    *,
    cells: int = 3,
    seconds: float = 10.0,
    draw: str = "",
    executor: str = "processes",
    into: Path | None = None,
    tell: Callable[[str], None] = lambda text: None,
    listeners: Sequence[object] = (),
) -> Verification:
    """Verify a bundle.

    Every verdict is computed again from the rows alone and compared with the stored one. Then cells are run again that
    are drawn by the digest of the bundle. ``listeners`` receive the events of these runs.
    """
    checks = Verification(tell)
    manifest, claims, digest = read_bundle(path)
    checks.say(f"{path}: {counted(len(manifest.suites), 'suite')}; SHA-256 of the manifest: {digest}")
    with open_store(path) as store:
        try:
            _check_suites(manifest, claims, store, checks)
        except Exception as error:  # also of hostile values that pass every check
            checks.differs(f"the bundle cannot be judged: {describe_error(error)}")
        if cells:
            Cells(store, executor, seconds, checks, listeners).run(cells, digest, draw)
    if not (checks.verdicts or checks.cells or checks.differences):
        checks.say("Nothing was compared: the suites have no claims. --cells K runs cells again.")
    if into is not None and not checks.exit_code:
        checks.say(f"{into}: {merge([path], into)}.")
    return checks


def _check_suites(manifest: Manifest, claims: list[Any], store: OpenStore, found: Verification) -> None:
    """Compare what manifest, claims and store are about, then the counts and the verdicts of each suite."""
    judged = [Suite.parse(one["definition"], "claims.json") for one in claims]
    ids = [f"{suite.name}@{suite.version}" for suite in judged]
    stored = list(store)
    listed = [suite.id for suite in manifest.suites]
    if not listed or not sorted(ids) == sorted(stored) == sorted(listed):
        found.differs(
            f"the suites must be the same ones: {listed} in the manifest, {stored} in the store, {ids} judged"
        )
        return
    facts = {suite.id: suite for suite in manifest.suites}
    for id, suite, one in zip(ids, judged, claims, strict=True):
        verdicts = store.of(suite).claims()
        stated, by_rows = facts[id].model_dump(), facts_of(store.of(suite), [verdict.as_dict() for verdict in verdicts])
        for name in by_rows:
            if stated[name] != by_rows[name]:
                found.differs(f"{id}: {name} is {stated[name]} in the manifest, {by_rows[name]} by the rows")
        _check_verdicts(id, verdicts, one["verdicts"], found)
        installed = store.get(suite.name) if suite.name in store.plugins.suites else None
        if installed is not None and installed.suite.definition()["claim"] != one["definition"]["claim"]:
            found.say(f"{id}: its claims are not those of the installed suite {suite.name}")


def _check_verdicts(id: str, verdicts: Sequence[Verdict], stored: list[Mapping[str, Any]], found: Verification) -> None:
    computed = {verdict.id: verdict for verdict in verdicts}
    if sorted(str(one["id"]) for one in stored) != sorted(computed):
        found.differs(f"{id}: the bundle has verdicts on other claims than its suite has")
        return
    words: Counter[str] = Counter()
    for other in stored:
        verdict = computed[other["id"]]
        record = from_json(readable_json(finite(verdict.as_dict(), infinite=True)))
        words[verdict.verdict] += 1
        if wrong := sorted(
            name for name in record.keys() | other.keys() if not close(record.get(name), other.get(name), NUMBERS_AGREE)
        ):
            both = (f"{name} {other.get(name)!r} in the bundle, {record.get(name)!r} by its rows" for name in wrong)
            found.differs(f"{id}/{verdict.id}: {', '.join(both)}")
        else:
            found.verdicts += 1
            estimate = with_interval(verdict.estimate, verdict.lo, verdict.hi)
            found.say(f"{verdict.sign} {verdict.words}  {id}/{verdict.id}: {estimate}, R = {verdict.replicates}")
    counts = ", ".join(f"{words[word]} {word}" for word in ("supported", "contradicted", "undecided") if words[word])
    found.say(f"{id}: {counts or 'no claims'}")
