"""``python -m benchmarks.claims``: writes docs/claims.md, the verdicts on every statement of the papers, from stores.

Statements and the claims that test them are in ``statements.toml`` beside this file.
"""

from __future__ import annotations

import argparse
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from bfc_bench import open_store
from bfc_bench.analysis.claims import Verdict
from bfc_bench.config import Settings
from bfc_bench.errors import StoreError, UsageError
from bfc_bench.report.tables import number, with_interval
from bfc_bench.stored_suite import OpenStore, StoredSuite

STATEMENTS = Path(__file__).with_name("statements.toml")
INTRODUCTION = """\
# What the suites found

Made by `python -m benchmarks.claims STORE...` from stores that `bfc-bench run SUITE --set seed=SEED` filled.
[Claim kinds](claim-kinds.md) has the rules of the verdicts: none comes from an estimate alone, and `undecided`
means that the interval reaches across the bound. \N{CHECK MARK} supported, \N{BALLOT X} contradicted, ? undecided, -
not run; one sign per seed ({seeds}). A sanity check could fail only if the program were wrong. `worst` is the
replicate that speaks most against the claim, which a mean hides."""
LOOKS = """\
Intervals of 95 %. Where another confidence stands beside one, `--until-decided` added replicates as long as the claim
was undecided: the intervals of all its looks hold together with 95 % ([statistics](statistics.md))."""


class Statement(Settings):
    """A statement of a paper, and the claims ``SUITE/ID`` that test it or the reason why none does."""

    source: str
    says: str
    claims: tuple[str, ...] = ()
    not_shown: str = ""

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
    not_run: dict[str, str] = {}
    """Suites about the papers that were not run, with reasons."""

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
        if unknown := set(self.remarks) - set(self.claims):
            raise ValueError(f"remarks must be about claims of the statements. Got {', '.join(sorted(unknown))}")
        return self


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
    """The page: claims that are not simply supported, then all statements, then all claims with a column per seed.

    Raises ``UsageError`` if two stores hold a suite with the same seed.
    """
    held: dict[int, dict[str, StoredSuite]] = {}
    for store in stores:
        names = {name.partition("@")[0] for name in store}
        for suite in (store[name] for name in known.suites if name in names):
            seed = int(suite.definition["seed"])
            if suite.name in held.setdefault(seed, {}):
                raise UsageError(f"{suite.name} of seed {seed} must be in one store. Got it in two.")
            held[seed][suite.name] = suite
    seeds = sorted(held)
    verdicts = [
        {f"{name}/{v.id}": v for name, suite in held[seed].items() for v in suite.claims() if v.replicates}
        for seed in seeds
    ]
    parts = [
        INTRODUCTION.format(seeds=" and ".join(map(str, seeds))),
        *[LOOKS] * any(verdict.look for of in verdicts for verdict in of.values()),
        *_exceptions(verdicts, known.remarks),
        "## Statement by statement\n\n" + _statements(known.statement, verdicts),
        *(_suite(name, {seed: held[seed].get(name) for seed in seeds}, verdicts) for name in known.suites),
        *[_not_run(known.not_run)] * bool(known.not_run),
    ]
    return "\n\n".join(parts)


def _signs(name: str, verdicts: Sequence[Mapping[str, Verdict]]) -> str:
    return "".join(of[name].sign if name in of else "-" for of in verdicts)


def _exceptions(verdicts: Sequence[Mapping[str, Verdict]], remarks: Mapping[str, str]) -> Iterator[str]:
    """Claims that are not simply supported, with the numbers of every seed."""
    names = list(dict.fromkeys(name for of in verdicts for name in of))
    words = {name: [of[name].verdict for of in verdicts if name in of] for name in names}
    groups = {
        "Contradicted": [name for name in names if set(words[name]) == {"contradicted"}],
        "Undecided": [name for name in names if set(words[name]) == {"undecided"}],
        "Seeds disagree": [name for name in names if len(set(words[name])) > 1],
        "Supported, but": [
            name
            for name in names
            if set(words[name]) == {"supported"} and any(of[name].but for of in verdicts if name in of)
        ],
    }
    for title, chosen in groups.items():
        lines = [f"## {title}", ""]
        for name in chosen:
            by_seed = [of[name] for of in verdicts if name in of]
            numbers = " and ".join(f"{v.sign} {with_interval(v.estimate, v.lo, v.hi)}{_but(v)}" for v in by_seed)
            remark = f" {remarks[name]}" if name in remarks else ""
            lines.append(f"- `{name}` ({by_seed[0].source}): {by_seed[0].statement} Found {numbers}.{remark}")
        yield "\n".join(lines if chosen else [*lines, "None."])


def _statements(known: Sequence[Statement], verdicts: Sequence[Mapping[str, Verdict]]) -> str:
    lines = ["| statement | what it says | claims |", "|---|---|---|"]
    for statement in known:
        claims = ", ".join(f"`{name}` {_signs(name, verdicts)}" for name in statement.claims)
        lines.append(f"| {statement.source} | {statement.says} | {claims or 'none: ' + statement.not_shown} |")
    return "\n".join(lines)


def _suite(suite: str, held: Mapping[int, StoredSuite | None], verdicts: Sequence[Mapping[str, Verdict]]) -> str:
    """A line per claim of the suite, with the verdict and the numbers of every seed."""
    made = [f"{seed}: {_made(stored)}" for seed, stored in held.items() if stored]
    if not made:
        return f"## {suite}\n\nNot run."
    names = list(dict.fromkeys(name for of in verdicts for name in of if name.partition("/")[0] == suite))
    lines = [
        f"| claim | source | claimed | {' | '.join(f'seed {seed}' for seed in held)} |",
        "|---|---|---|" + "---|" * len(held),
    ]
    for name in names:
        by_seed = [of.get(name) for of in verdicts]
        first = next(v for v in by_seed if v)
        aside = ", a sanity check" if first.sanity else ""
        cells = [_cell(v) if v else "-" for v in by_seed]
        lines.append(f"| `{first.id}`{aside} | {first.source} | {first.region} | {' | '.join(cells)} |")
    return f"## {suite}\n\n" + "\n".join(lines) + f"\n\nSeed {'; seed '.join(made)}."


def _cell(verdict: Verdict) -> str:
    """Sign, estimate, worst replicate, replicates, and the interval's confidence if more looks were planned."""
    worst = "" if math.isnan(verdict.worst) else f", worst {number(verdict.worst)}"
    look = f" at {100 * verdict.confidence:.4g} %" if verdict.look else ""
    estimate = with_interval(verdict.estimate, verdict.lo, verdict.hi)
    return f"{verdict.sign} {estimate}{worst}{_but(verdict)}, R = {verdict.replicates}{look}"


def _but(verdict: Verdict) -> str:
    """The reservation about a verdict, if any."""
    return f" (but {verdict.but})" if verdict.but else ""


def _not_run(reasons: Mapping[str, str]) -> str:
    lines = [f"- `{suite}`: {reason}." for suite, reason in reasons.items()]
    return "## Suites that were not run\n\n" + "\n".join(lines)


def _made(stored: StoredSuite) -> str:
    """Cells, CPU time, machine and code of the runs behind a suite's rows."""
    rows, last = stored.columns(), stored.sessions[-1]["provenance"]
    seconds = float(np.nansum(rows.number("fit_cpu_seconds")))
    where = f"{last.get('processor', 'unknown')}, commit {str(last.get('git') or 'unknown')[:7]}"
    return f"{len(rows)} cells, {seconds:.0f} s of fitting, last on {where}"


if __name__ == "__main__":
    raise SystemExit(main())
