"""``python -m benchmarks.claims``: writes docs/claims.md, the verdicts on every statement of the papers, from stores.

Statements and the claims that test them are in ``statements.toml`` beside this file.
"""

from __future__ import annotations

import argparse
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from bfc_bench import open_store
from bfc_bench.analysis.alpha_spending import TOTAL
from bfc_bench.analysis.claims import Verdict, decided_together, judge
from bfc_bench.analysis.claims.verdict import SIGNS
from bfc_bench.analysis.compare import holm
from bfc_bench.analysis.interim_analyses import ClaimLooks, Look
from bfc_bench.analysis.intervals import MIN_SKEWED
from bfc_bench.config import Settings
from bfc_bench.errors import StoreError, UsageError
from bfc_bench.report.tables import number, with_interval
from bfc_bench.stored_suite import OpenStore, StoredSuite

STATEMENTS = Path(__file__).with_name("statements.toml")
QUOTED = re.compile(r"\{([^{}]+)\}")
"""A claim whose estimates stand in a sentence."""
SKEWED, FEW, EARLY = 0.048, 0.108, 0.14
"""Largest shares of false verdicts on a side in docs/statistics.md, for independent values without rare failures: with
intervals that allow for skewness, with fewer than 5 replicates, and with Student's interval."""
SIGNS_OF_OUTCOMES = {**SIGNS, "stopped": "stopped", "not run": "not run"}
HOW_TO_READ = """\
Made by `python -m benchmarks.claims STORE...` from stores that `bfc-bench run SUITE --set seed=SEED` filled.
[Claim kinds](claim-kinds.md) has the rules of the verdicts: none comes from an estimate alone. \N{CHECK MARK}
supported, \N{BALLOT X} contradicted, ? undecided: the interval reaches across the bound. `stopped` is undecided too:
`--until-decided` began another look at the claim and was ended before it made this look. Numbers with a / between them
are the estimates of the seeds. A sanity check could fail only if the program were wrong."""
DETAILS = """\
## Suite by suite

`worst` is the replicate that speaks most against the claim, which a mean hides. `nearest` is the strongest of the
learners that must be beaten. R is the number of replicates. Intervals hold with 95 %. Where another confidence stands
beside R, `--until-decided` added replicates as long as the claim was undecided, and the intervals of all its looks hold
together with 95 % ([statistics](statistics.md)). A claim that was asked before, on other teachers or tasks, says where
it was first asked and what was found there."""


class Statement(Settings):
    """A statement of a paper, and the claims ``SUITE/ID`` that test it or the reason why none does."""

    source: str
    says: str
    claims: tuple[str, ...] = ()
    not_shown: str = ""
    strongest_loser: str = ""
    """What is left of the statement beside the strongest of those that it says to be worse. ``{SUITE/ID}`` stands for
    the estimates of a claim; the sentence is shown if all claims that it names were run."""

    @property
    def quoted(self) -> tuple[str, ...]:
        """The claims whose estimates ``strongest_loser`` quotes."""
        return tuple(QUOTED.findall(self.strongest_loser))

    @model_validator(mode="after")
    def _either(self) -> Statement:
        if bool(self.claims) == bool(self.not_shown):
            raise ValueError("claims or not_shown is required, and only one")
        return self


class Statements(Settings):
    """The contents of ``statements.toml``."""

    statement: Annotated[tuple[Statement, ...], Field(min_length=1)]
    remarks: dict[str, str] = {}
    """Explanations of claims ``SUITE/ID``, shown if a claim is not simply supported."""
    first_asked: dict[str, tuple[str, ...]] = {}
    """Claims ``SUITE/ID`` that were asked before on other teachers or tasks, with the names that they had there."""
    not_run: dict[str, str] = {}
    """Suites about the papers that were not run, with reasons, shown if no store holds them."""

    @property
    def claims(self) -> tuple[str, ...]:
        """All claims of the statements."""
        return tuple(claim for statement in self.statement for claim in statement.claims)

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites of these claims, in the order of the statements."""
        return tuple(dict.fromkeys(claim.partition("/")[0] for claim in self.claims))

    @model_validator(mode="after")
    def _about_claims(self) -> Statements:
        named = {
            "remarks": {*self.remarks},
            "first_asked": {*self.first_asked},
            "strongest_loser": {name for statement in self.statement for name in statement.quoted},
        }
        for key, names in named.items():
            if unknown := names - {*self.claims}:
                raise ValueError(f"{key} must be about claims of the statements. Got {', '.join(sorted(unknown))}")
        return self


@dataclass(frozen=True)
class Found:
    """What a seed says of a claim."""

    verdict: Verdict
    looks: ClaimLooks
    by_present_rule: str
    """The verdict at the same look if its interval allows for skewed values, as those of early looks do not."""
    was_run: bool = True
    """Whether each of its learners has rows on one of its tasks."""

    @property
    def early(self) -> bool:
        """Whether its look was made before intervals allowed for skewed values."""
        return self.looks.current_look is not None and not self.looks.current_look.allows_skewness

    @property
    def stopped(self) -> str:
        """Before which look the claim was left undecided; empty if all looks that were begun were made."""
        begun = next((look for look in self.looks.looks if look.verdict is None), None)
        if begun is None or self.verdict.verdict != "undecided":
            return ""
        return f"before look {begun.at.number} of {begun.at.of}"

    @property
    def outcome(self) -> str:
        """``supported``, ``contradicted``, ``undecided`` or ``stopped``."""
        return "stopped" if self.stopped else self.verdict.verdict

    @property
    def sign(self) -> str:
        """Sign of the outcome."""
        return SIGNS_OF_OUTCOMES[self.outcome]

    @property
    def numbers(self) -> str:
        """Sign, estimate with its interval, and what must stand beside them."""
        v = self.verdict
        return f"{self.sign} {with_interval(v.estimate, v.lo, v.hi)}{f' (but {v.but})' if v.but else ''}"

    @property
    def reservations(self) -> str:
        """In brackets, before which look it was stopped, and the verdict if values are not skewed."""
        not_skewed = re.search(r"\w+ if the values are not skewed", self.verdict.note)
        said = [self.stopped, not_skewed[0] if not_skewed and self.verdict.verdict == "undecided" else ""]
        return f" ({'; '.join(filter(None, said))})" if any(said) else ""


@dataclass(frozen=True)
class Seed:
    """The suites of one seed."""

    seed: int
    suites: Mapping[str, StoredSuite]

    @cached_property
    def found(self) -> dict[str, Found]:
        """What was found of each claim ``SUITE/ID`` that was run."""
        return {
            f"{name}/{one.verdict.id}": one
            for name, suite in self.suites.items()
            for one in _found(suite)
            if one.was_run
        }

    def first(self, claim: str, before: str) -> tuple[Look, bool] | None:
        """The last look at what is asked anew as ``claim`` and was ``before`` that, and whether the claim was stopped
        there; None if the store has no such look."""
        name, _, id = before.partition("/")
        if claim not in self.found or name not in self.suites:
            return None
        suite, data = self.suites[name], self.found[claim].looks.data
        records = [record for record in suite.store.looks.of(name, suite.version) if record["claim"] == id]
        looks = sorted((Look.of(r) for r in records if r["data"] != data), key=lambda look: look.replicates)
        made = [look for look in looks if look.verdict is not None]
        if not made:
            return None
        return made[-1], made[-1].verdict == "undecided" and len(made) < len(looks)


def read_statements(path: Path = STATEMENTS) -> Statements:
    """Read and validate a file of statements."""
    return Statements.parse(tomllib.loads(path.read_text()), path.name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the page for stores, one or more per seed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claims", description=__doc__)
    parser.add_argument("stores", type=Path, nargs="+", metavar="STORE", help="with runs of the suites, of any seeds")
    paths = parser.parse_args(arguments).stores
    with ExitStack() as stack:
        try:
            stores = [stack.enter_context(open_store(path)) for path in paths]
        except StoreError as error:
            parser.error(str(error))
        print(page(read_statements(), stores))
    return 0


def page(known: Statements, stores: Sequence[OpenStore]) -> str:
    """The page: counts, all statements in a table, claims that are not simply supported, then all claims by suite.

    Raises ``UsageError`` if two stores hold a suite with the same seed.
    """
    seeds = _seeds(known, stores)
    not_run = {suite: why for suite, why in known.not_run.items() if not any(suite in seed.suites for seed in seeds)}
    names = [name for name in known.claims if any(name in seed.found for seed in seeds)]
    parts = [
        "# What the suites found",
        _counts(names, seeds),
        _contradicted(known.statement, seeds),
        _expected_errors(known, seeds),
        _table(known.statement, seeds),
        HOW_TO_READ,
        *_exceptions(names, seeds, known),
        DETAILS + _without_commit(seeds),
        *(_suite(name, seeds, known) for name in known.suites),
        _claims_of_statements(known.statement, seeds),
        *[_untested(known.statement)] * any(statement.not_shown for statement in known.statement),
        *[_not_run(not_run)] * bool(not_run),
    ]
    return "\n\n".join(filter(None, parts))


def _seeds(known: Statements, stores: Sequence[OpenStore]) -> list[Seed]:
    held: dict[int, dict[str, StoredSuite]] = {}
    for store in stores:
        names = {name.partition("@")[0] for name in store}
        for suite in (store[name] for name in known.suites if name in names):
            seed = int(suite.definition["seed"])
            if suite.name in held.setdefault(seed, {}):
                raise UsageError(f"{suite.name} of seed {seed} must be in one store. Got it in two.")
            held[seed][suite.name] = suite
    return [Seed(seed, held[seed]) for seed in sorted(held)]


def _found(suite: StoredSuite) -> list[Found]:
    """The verdicts of a suite; those of looks that did not allow for skewed values are also judged as if they did."""
    rows = suite.columns()
    looks_by_claim, again, rows_by_claim = suite.looks_by_claim(rows), [], {}
    for looks in looks_by_claim:
        if looks.current_look and not looks.current_look.allows_skewness:
            again.append(looks.claim.at_look(replace(looks.current_look.at, allows_skewness=True)))
            rows_by_claim[looks.claim.id] = rows.at(looks.current_look.row_mask(rows))
    present = {verdict.id: verdict.verdict for verdict in judge(again, rows, suite.theories, rows_by_claim)}
    made = {(row.task, row.label) for row in suite.each()}
    return [
        Found(
            verdict,
            looks,
            present.get(verdict.id, verdict.verdict),
            all(any((task, label) in made for task in looks.claim.tasks) for label in looks.claim.labels),
        )
        for verdict, looks in zip(suite.claims(), looks_by_claim, strict=True)
    ]


def _outcomes(name: str, seeds: Sequence[Seed]) -> list[str]:
    """What each seed says of a claim."""
    return [seed.found[name].outcome if name in seed.found else "not run" for seed in seeds]


def _counts(names: Sequence[str], seeds: Sequence[Seed]) -> str:
    """How many claims are supported, contradicted, undecided and stopped, and on how many seeds disagree."""
    outcomes = [{word for word in _outcomes(name, seeds) if word != "not run"} for name in names]
    agreed = Counter(next(iter(words)) for words in outcomes if len(words) == 1)
    disagree = sum(len(words) > 1 for words in outcomes)
    checks = sum(any(name in seed.found and seed.found[name].verdict.sanity for seed in seeds) for name in names)
    counted = ", ".join(f"{agreed[word]} {word}" for word in ("supported", "contradicted", "undecided", "stopped"))
    numbers = " and ".join(str(seed.seed) for seed in seeds)
    return (
        f"{len(names)} claims test what the papers state, on {'seeds' if len(seeds) > 1 else 'seed'} {numbers}: "
        f"**{counted}{' on every seed that ran them' if len(seeds) > 1 else ''}**"
        + (f", and {disagree} on which the seeds disagree." if len(seeds) > 1 else ".")
        + (f" Sanity checks among them: {checks}." if checks else "")
    )


def _contradicted(known: Sequence[Statement], seeds: Sequence[Seed]) -> str:
    """The statements with a contradicted claim."""
    lines = []
    for statement in known:
        by_claim = [_outcomes(name, seeds).count("contradicted") for name in statement.claims]
        if not any(by_claim):
            continue
        some, partly = sum(map(bool, by_claim)), sum(0 < count < len(seeds) for count in by_claim)
        aside = f", {f'{partly} of them ' * (partly < some)}not on every seed" if partly else ""
        counted = f"{some} of {len(by_claim)} claims{aside}"
        lines.append(f"- **{statement.source}**: {statement.says} ({counted})")
    return "\n".join(["Statements with contradicted claims:", "", *lines]) if lines else "No claim is contradicted."


def _expected_errors(known: Statements, seeds: Sequence[Seed]) -> str:
    """How many verdicts are expected to be wrong, and how many remain if they are decided together."""
    found = [one for seed in seeds for one in seed.found.values() if not one.verdict.sanity]
    verdicts = [one.verdict for one in found]
    adjusted = holm([verdict.p for verdict in verdicts])
    as_one = [replace(verdict, holm_p=p) for verdict, p in zip(verdicts, adjusted, strict=True)]
    within, overall = _decided(decided_together(verdicts)), _decided(decided_together(as_one))
    asked = [(claim, name) for claim, names in known.first_asked.items() for name in names]
    before = sum(seed.first(claim, name) is not None for claim, name in asked for seed in seeds)
    everywhere = [
        name
        for name in known.claims
        if all(name in seed.found and not seed.found[name].verdict.sanity for seed in seeds)
    ]
    nominal = (
        f"- **At most {_above(TOTAL * len(found))}** if intervals of 95 % hold. The truth lies on one side of a bound, "
        "so only one of the two decided verdicts would be wrong, and an interval leads to it with a probability of "
        f"{100 * TOTAL:g} % at most."
    )
    if len(seeds) > 1:
        bound = _above(TOTAL ** len(seeds) * len(everywhere))
        nominal += f" Seeds share no teachers: at most {bound} of {len(everywhere)} claims are expected to be wrong "
        nominal += "on every seed."
    if before:
        nominal += f" Claims that were asked before had {before} verdicts then, which add at most "
        nominal += f"{_above(TOTAL * before)}."
    together = (
        f"- Decided together by Holm's method, **{overall}** verdicts remain decided if all are one family: with a "
        "probability of .95 none of these is wrong. If each suite of a seed is a family, as in `bfc-bench claims "
        f"--family`, {within} remain."
    )
    head = (
        f"Without sanity checks there are {len(found)} verdicts, of which {_decided(verdicts)} are decided. How many "
        "are expected to be wrong:"
    )
    return "\n".join([head, "", nominal, _if_skewed(found), together])


def _if_skewed(found: Sequence[Found]) -> str:
    """How many verdicts are expected to be wrong at the rates that were measured for skewed values."""
    early = [one for one in found if one.early]
    few = [one for one in found if not one.early and one.verdict.replicates < MIN_SKEWED]
    bound = _above(EARLY * len(early) + FEW * len(few) + SKEWED * (len(found) - len(early) - len(few)))
    rates = [f"{100 * SKEWED:g} % if an interval allows for skewness"]
    if few:
        rates.append(f"{100 * FEW:g} % for the {len(few)} verdicts of fewer than {MIN_SKEWED} replicates")
    if early:
        rates.append(
            f"{100 * EARLY:g} % for the {len(early)} verdicts of looks that were made before intervals "
            "[allowed for it](statistics.md#skewed-values)"
        )
    text = (
        f"- At most **{bound}** if the values of all claims are skewed, at the rates that "
        f"[were measured](statistics.md#false-verdicts): {', '.join(rates)}."
    )
    if early:
        decided = _decided([one.verdict for one in early])
        weaker = decided - sum(one.by_present_rule != "undecided" for one in early)
        text += f" By the present rule {weaker} of these {len(early)} would be undecided that are decided now."
    return text


def _decided(verdicts: Sequence[Verdict]) -> int:
    return sum(verdict.verdict != "undecided" for verdict in verdicts)


def _above(value: float) -> str:
    """A number with two digits, rounded up, because it is a bound."""
    scale = 10.0 ** (1 - math.floor(math.log10(value))) if value > 0 else 1.0
    return f"{math.ceil(round(value * scale, 6)) / scale:.2g}"


def _table(known: Sequence[Statement], seeds: Sequence[Seed]) -> str:
    """A line per statement with claims: how many of them have which outcome, and what the strongest loser leaves."""
    columns = " | ".join(f"seed {seed.seed}" for seed in seeds)
    lines = [
        f"| theorem or figure | {columns} | what its strongest loser leaves of it |",
        "|---|" + "---|" * len(seeds) + "---|",
    ]
    for statement in filter(lambda statement: statement.claims, known):
        cells = [
            Counter(seed.found[name].outcome if name in seed.found else "not run" for name in statement.claims)
            for seed in seeds
        ]
        counts = " | ".join(
            ", ".join(
                f"{cell[word]}{' ' * (len(sign) > 1)}{sign}" for word, sign in SIGNS_OF_OUTCOMES.items() if cell[word]
            )
            for cell in cells
        )
        lines.append(f"| **{statement.source}**: {statement.says} | {counts} | {_strongest_loser(statement, seeds)} |")
    return "\n".join(lines)


def _strongest_loser(statement: Statement, seeds: Sequence[Seed]) -> str:
    """The sentence with the estimates of every seed; empty if a claim that it quotes was not run."""

    def estimates(name: str) -> str:
        found = [number(seed.found[name].verdict.estimate) for seed in seeds if name in seed.found]
        return " / ".join(dict.fromkeys(found))

    if not all(estimates(name) for name in statement.quoted):
        return ""
    return QUOTED.sub(lambda quoted: estimates(quoted[1]), statement.strongest_loser)


def _exceptions(names: Sequence[str], seeds: Sequence[Seed], known: Statements) -> Iterator[str]:
    """Claims that are not simply supported, with the numbers of every seed."""
    by_claim = {name: [seed.found[name] for seed in seeds if name in seed.found] for name in names}
    outcomes = {name: {found.outcome for found in of} for name, of in by_claim.items()}
    groups = {
        "Contradicted": [name for name in names if outcomes[name] == {"contradicted"}],
        "Undecided or stopped": [name for name in names if outcomes[name] in ({"undecided"}, {"stopped"})],
        "Seeds disagree": [name for name in names if len(outcomes[name]) > 1],
        "Supported, but": [
            name
            for name in names
            if outcomes[name] == {"supported"} and any(found.verdict.but for found in by_claim[name])
        ],
    }
    for title, chosen in groups.items():
        lines = [f"## {title}", ""]
        for name in chosen:
            numbers = " and ".join(f"{found.numbers}{found.reservations}" for found in by_claim[name])
            verdict = by_claim[name][0].verdict
            first = f" First asked as {said}." if (said := _first_asked(name, seeds, known)) else ""
            remark = f" {known.remarks[name]}" if name in known.remarks else ""
            lines.append(f"- `{name}` ({verdict.source}): {verdict.statement} Found {numbers}.{first}{remark}")
        yield "\n".join(lines if chosen else [*lines, "None."])


def _first_asked(claim: str, seeds: Sequence[Seed], known: Statements) -> str:
    """The names and tasks of a claim before it was asked anew, and the verdict of every seed; empty if it was not."""
    said = []
    for name in known.first_asked.get(claim, ()):
        looks = [seed.first(claim, name) for seed in seeds]
        tasks = list(dict.fromkeys(task for found in looks if found for task, _, _ in found[0].reads))
        verdicts = " and ".join(
            f"{SIGNS[found[0].verdict]}{' stopped' * found[1]}, R = {found[0].replicates}" if found else "-"
            for found in looks
        )
        said.append(f"`{name}` ({', '.join(tasks)}: {verdicts})" if tasks else f"`{name}` (not in these stores)")
    return "; ".join(said)


def _suite(suite: str, seeds: Sequence[Seed], known: Statements) -> str:
    """A line per claim of the suite, with the verdict and the numbers of every seed."""
    made = [f"{seed.seed}: {_made(seed.suites[suite])}" for seed in seeds if suite in seed.suites]
    if not made:
        return f"## {suite}\n\nNot run."
    names = list(dict.fromkeys(name for seed in seeds for name in seed.found if name.partition("/")[0] == suite))
    first = {name: _first_asked(name, seeds, known) for name in names}
    head = [
        "claim",
        "source",
        "claimed",
        *(f"seed {seed.seed}" for seed in seeds),
        *["first asked"] * any(first.values()),
    ]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name in names:
        by_seed = [seed.found.get(name) for seed in seeds]
        verdict = next(found.verdict for found in by_seed if found)
        cells = [
            f"`{verdict.id}`{', a sanity check' if verdict.sanity else ''}", verdict.source, verdict.region,
            *(_cell(found) if found else "-" for found in by_seed),
            *[first[name]] * any(first.values()),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return f"## {suite}\n\n" + "\n".join(lines) + f"\n\nSeed {'; seed '.join(made)}."


def nearest(verdict: Verdict) -> str:
    """Which of several opponents decides a verdict; empty if there is only one."""
    found = re.search(r"\bnearest: ([^;]+)", verdict.note)
    return found[1] if found else ""


def _cell(found: Found) -> str:
    """Sign, estimate, nearest of several, worst replicate, replicates, and the confidence if looks were planned."""
    verdict = found.verdict
    parts = [
        found.numbers,
        f"nearest {other}" if (other := nearest(verdict)) else "",
        "" if math.isnan(verdict.worst) else f"worst {number(verdict.worst)}",
        f"R = {verdict.replicates}" + (f" at {100 * verdict.confidence:.4g} %" if verdict.look else ""),
    ]
    return ", ".join(filter(None, parts)) + found.reservations


def _claims_of_statements(known: Sequence[Statement], seeds: Sequence[Seed]) -> str:
    """The claims of each statement, by suite, with a sign per seed."""
    lines = ["## Claims of the statements", "", "One sign stands for all seeds that agree.", ""]
    for statement in filter(lambda statement: statement.claims, known):
        by_suite: dict[str, list[str]] = {}
        for name in statement.claims:
            suite, _, id = name.partition("/")
            signs = " ".join(SIGNS_OF_OUTCOMES[word] for word in dict.fromkeys(_outcomes(name, seeds)))
            by_suite.setdefault(suite, []).append(f"`{id}` {signs}")
        claims = "; ".join(f"[{suite}](#{suite}): {', '.join(ids)}" for suite, ids in by_suite.items())
        lines.append(f"- **{statement.source}**: {statement.says}. {claims}")
    return "\n".join(lines)


def _untested(known: Sequence[Statement]) -> str:
    lines = [f"- **{one.source}**: {one.says}. Not tested: {one.not_shown}." for one in known if one.not_shown]
    return "## Statements without a claim\n\n" + "\n".join(lines)


def _not_run(reasons: Mapping[str, str]) -> str:
    lines = [f"- `{suite}`: {reason}." for suite, reason in reasons.items()]
    return "## Suites that were not run\n\n" + "\n".join(lines)


def _commits(stored: StoredSuite) -> Counter[str]:
    """Cells by the commit that their sessions recorded; those of no commit are under the empty text."""
    commits = {session["id"]: session["provenance"].get("git") or "" for session in stored.sessions}
    return Counter(commits.get(row.provenance, "") for row in stored.each())


def _without_commit(seeds: Sequence[Seed]) -> str:
    """How many cells come from sessions that recorded no commit; empty if all recorded one."""
    counts = sum((_commits(suite) for seed in seeds for suite in seed.suites.values()), Counter())
    if not counts[""]:
        return ""
    return (
        f"\n\nA session records the commit of the folder in which it is started. Of {counts.total():,} cells, "
        f"{counts['']:,} come from sessions that were started outside of a checkout: commit not recorded."
    )


def _made(stored: StoredSuite) -> str:
    """Cells, CPU time, machine, release, dates and commits of the rows of a suite."""
    rows, sessions = stored.columns(), stored.sessions
    seconds = float(np.nansum(rows.number("fit_cpu_seconds")))
    machines = dict.fromkeys(session["provenance"].get("processor", "an unknown processor") for session in sessions)
    days = sorted({datetime.fromtimestamp(session["started_at"], UTC).date().isoformat() for session in sessions})
    commits = _commits(stored)
    recorded = [
        commit[:7] + f" ({count} cells)" * (count < len(rows)) for commit, count in commits.most_common() if commit
    ]
    parts = [
        f"{len(rows)} cells, {seconds:.0f} s of fitting on {' and '.join(machines)}",
        f"release {' and '.join(filter(None, rows.distinct('release'))) or 'unknown'}",
        " to ".join(dict.fromkeys((days[0], days[-1]))),
        f"commit{'s' * (len(recorded) > 1)} {' and '.join(recorded)}" if recorded else "",
    ]
    return ", ".join(filter(None, parts))


if __name__ == "__main__":
    raise SystemExit(main())
