"""``python -m benchmarks.claims``: writes docs/claims.md, the verdicts on every statement of the papers, from stores.

Statements and the claims that test them are in ``statements.toml`` beside this file.
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from bfc_bench import open_store
from bfc_bench.analysis.alpha_spending import TOTAL
from bfc_bench.analysis.claims import Verdict
from bfc_bench.analysis.claims.verdict import SIGNS
from bfc_bench.analysis.compare import ALPHA
from bfc_bench.analysis.intervals import holm
from bfc_bench.config import Settings
from bfc_bench.errors import StoreError, UsageError
from bfc_bench.report.tables import number
from bfc_bench.stored_suite import OpenStore, StoredSuite

FIELDS = ("id", "source", "verdict", "estimate", "lo", "hi", "region", "replicates", "p", "worst", "but", "sanity")
STATEMENTS = Path(__file__).with_name("statements.toml")
QUOTED = re.compile(r"\{([^{}]+)\}")
"""A claim whose estimates stand in a sentence."""
SIGNS_OF_OUTCOMES = {**SIGNS, "not run": "not run"}
HOW_TO_READ = """\
Made by `python -m benchmarks.claims STORE... --csv docs/claims.csv` from stores that `bfc-bench run SUITE --set
seed=SEED` filled. [Claim kinds](claim-kinds.md) has the rules of the verdicts: none comes from an estimate alone.
\N{CHECK MARK} supported, \N{BALLOT X} contradicted, ? undecided: the interval reaches across the bound. Numbers
with a / between them are the estimates of the seeds. A sanity check could fail only if the program were wrong. Every
claim of every seed, with its interval, is a line of [claims.csv](claims.csv). The papers state orders of growth and
inequalities. Thresholds such as 1e-5 and factors such as 100 are ours, unless a statement says where they stand, and so
is 1.25, within which two learners count as equal, one margin for all, set after these runs. Other bounds that were set
after them say so. A ratio to an error that falls as long as training goes on says how long that was, no more."""
MEANINGS = ("refutes a sentence of the source", "outside its conditions", "our own expectation")
"""What a contradicted claim may mean for the source that it was made from."""


class Statement(Settings):
    """A statement of a paper, and the claims ``SUITE/ID`` that test it or the reason why none does."""

    source: str
    says: str
    claims: tuple[str, ...] = ()
    not_shown: str = ""
    question: str = ""
    answer: str = ""
    """What a reader asks about the statement, and what was found in short, for the top of the page. It quotes estimates
    as ``strongest_loser`` does."""
    strongest_loser: str = ""
    """What is left of the statement beside the strongest of those that it says to be worse. ``{SUITE/ID}`` stands for
    the estimates of a claim; the sentence is shown if all claims that it names were run."""

    @property
    def quoted(self) -> tuple[str, ...]:
        """The claims whose estimates its sentences quote."""
        return tuple(QUOTED.findall(self.answer + self.strongest_loser))

    @model_validator(mode="after")
    def _either(self) -> Statement:
        if bool(self.claims) == bool(self.not_shown):
            raise ValueError("claims or not_shown is required, and only one")
        return self


class Remark(Settings):
    """The explanation of claims ``SUITE/ID`` that are not simply supported."""

    claims: Annotated[tuple[str, ...], Field(min_length=1)]
    says: str
    means: Annotated[str, Field(pattern=f"^(({'|'.join(MEANINGS)}): .+)?$")] = ""
    """One of ``MEANINGS``, and the reason after a colon; required if one of the claims is contradicted."""


class Statements(Settings):
    """The contents of ``statements.toml``."""

    statement: Annotated[tuple[Statement, ...], Field(min_length=1)]
    remark: tuple[Remark, ...] = ()
    """Each is shown once, with those of its claims that are not simply supported."""
    not_run: dict[str, str] = {}
    """Suites about the papers that were not run, with reasons, shown if no store holds them."""

    @property
    def claims(self) -> tuple[str, ...]:
        """All claims of the statements."""
        return tuple(claim for statement in self.statement for claim in statement.claims)

    @property
    def meanings(self) -> dict[str, str]:
        """What a contradiction of each claim means, with the reason."""
        return {name: remark.means for remark in self.remark for name in remark.claims if remark.means}

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites of these claims, in the order of the statements."""
        return tuple(dict.fromkeys(claim.partition("/")[0] for claim in self.claims))

    @model_validator(mode="after")
    def _about_claims(self) -> Statements:
        named = {
            "remarks": {name for remark in self.remark for name in remark.claims},
            "sentences": {name for statement in self.statement for name in statement.quoted},
        }
        for key, names in named.items():
            if unknown := names - {*self.claims}:
                raise ValueError(f"{key} must be about claims of the statements. Got {', '.join(sorted(unknown))}")
        return self


@dataclass(frozen=True)
class Found:
    """What a seed says of a claim."""

    verdict: Verdict
    needed: str
    """What would decide the claim, in words."""

    @property
    def outcome(self) -> str:
        """``supported``, ``contradicted`` or ``undecided``."""
        return self.verdict.verdict

    @property
    def numbers(self) -> str:
        """Sign, estimate, and what must stand beside them."""
        but = f" (but {self.verdict.but})" if self.verdict.but else ""
        return f"{SIGNS_OF_OUTCOMES[self.outcome]} {number(self.verdict.estimate)}{but}"


@dataclass(frozen=True)
class Seed:
    """The suites of one seed."""

    seed: int
    suites: Mapping[str, StoredSuite]

    @cached_property
    def found(self) -> dict[str, Found]:
        """What was found of each claim ``SUITE/ID`` whose learners have rows on one of its tasks."""
        return {f"{name}/{one.verdict.id}": one for name, suite in self.suites.items() for one in _found(suite)}


def read_statements(path: Path = STATEMENTS) -> Statements:
    """Read and validate a file of statements."""
    return Statements.parse(tomllib.loads(path.read_text()), path.name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the page for stores, one or more per seed, and write the table of all claims."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claims", description=__doc__)
    parser.add_argument("stores", type=Path, nargs="+", metavar="STORE", help="with runs of the suites, of any seeds")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="where to write a line per claim and seed")
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        try:
            stores = [stack.enter_context(open_store(path)) for path in options.stores]
        except StoreError as error:
            parser.error(str(error))
        known = read_statements()
        seeds = seeds_of(known, stores)
        if options.csv:
            options.csv.write_text(table(known, seeds))
        print(page(known, seeds))
    return 0


def page(known: Statements, seeds: Sequence[Seed]) -> str:
    """The page: counts, what is contradicted, all statements in a table, and what was not tested."""
    not_run = {suite: why for suite, why in known.not_run.items() if not any(suite in seed.suites for seed in seeds)}
    names = [name for name in known.claims if any(name in seed.found for seed in seeds)]
    parts = [
        "# What the suites found",
        _counts(names, seeds, known),
        _answers(known.statement, seeds),
        HOW_TO_READ,
        "## Statement by statement",
        _table(known.statement, seeds),
        _expected_errors(seeds),
        _contradicted_claims(names, seeds, known),
        _undecided_claims(names, seeds, known),
        *[_untested(known.statement)] * any(statement.not_shown for statement in known.statement),
        *[_not_run(not_run)] * bool(not_run),
    ]
    return "\n\n".join(filter(None, parts))


def table(known: Statements, seeds: Sequence[Seed]) -> str:
    """Every claim of every seed as a line of CSV. The last of six digits may differ between CPUs."""
    import pandas as pd

    lines = []
    for statement in known.statement:
        for seed, name in itertools.product(seeds, statement.claims):
            if found := seed.found.get(name):
                about = {"statement": statement.source, "suite": name.partition("/")[0], "seed": seed.seed}
                values = {field: getattr(found.verdict, field) for field in FIELDS}
                more = {"undecided": {"needed": found.needed}, "contradicted": {"means": known.meanings.get(name)}}
                lines.append(about | values | {"needed": "", "means": ""} | more.get(found.outcome, {}))
    frame = pd.DataFrame(lines, columns=["statement", "suite", "seed", *FIELDS, "needed", "means"])
    return frame.to_csv(index=False, float_format="%.6g", na_rep="nan", lineterminator="\n")


def seeds_of(known: Statements, stores: Sequence[OpenStore]) -> list[Seed]:
    held: dict[int, dict[str, StoredSuite]] = {}
    for store in stores:
        names = {name.partition("@")[0] for name in store}
        for suite in (store[name] for name in known.suites if name in names):
            seed = int(suite.definition["seed"])
            if suite.name in held.setdefault(seed, {}):
                raise UsageError(f"{suite.name} of seed {seed} must be in one store. Got it in two.")
            held[seed][suite.name] = suite
    seeds = [Seed(seed, held[seed]) for seed in sorted(held)]
    contradicted = {name for name in known.claims if "contradicted" in _outcomes(name, seeds)}
    if silent := contradicted - {*known.meanings}:
        raise UsageError(f"A remark must say what the contradiction of {', '.join(sorted(silent))} means. Got none.")
    return seeds


def _found(suite: StoredSuite) -> list[Found]:
    """The verdicts of a suite on claims that were run: each of their learners has rows on one of their tasks."""
    made = set(zip(*map(suite.columns().column, ("task", "label")), strict=True))
    each = zip(suite.parsed_claims, suite.claims(), suite.replicates_needed(), strict=True)
    return [
        Found(verdict, needs.says)
        for claim, verdict, needs in each
        if all(any((task, label) in made for task in claim.tasks) for label in claim.labels)
    ]


def _outcomes(name: str, seeds: Sequence[Seed]) -> list[str]:
    """What each seed says of a claim."""
    return [seed.found[name].outcome if name in seed.found else "not run" for seed in seeds]


def _counts(names: Sequence[str], seeds: Sequence[Seed], known: Statements) -> str:
    """How many claims are supported, contradicted and undecided, on how many seeds differ, what contradictions mean."""
    outcomes = {name: {*_outcomes(name, seeds)} - {"not run"} for name in names}
    agreed = {name: next(iter(words)) for name, words in outcomes.items() if len(words) == 1}
    counts = Counter(agreed.values())
    opposite = sum({"supported", "contradicted"} <= words for words in outcomes.values())
    statements = sum(not outcomes.keys().isdisjoint(statement.claims) for statement in known.statement)
    checks = sum(any(name in seed.found and seed.found[name].verdict.sanity for seed in seeds) for name in names)
    means = Counter(known.meanings[name].partition(":")[0] for name, word in agreed.items() if word == "contradicted")
    return (
        f"{len(names)} claims test {statements} statements, on seeds {' and '.join(str(seed.seed) for seed in seeds)}: "
        f"**{', '.join(f'{counts[word]} {word}' for word in SIGNS)} on every seed that ran them**, "
        f"{len(names) - len(agreed) - opposite} decided on some seeds only, {opposite} with opposite verdicts. "
        f"Sanity checks among them: {checks}. What the [contradicted](#contradicted) ones mean: "
        f"{', '.join(f'{means[meaning]} {meaning}' for meaning in MEANINGS)}."
    )


def _answers(known: Sequence[Statement], seeds: Sequence[Seed]) -> str:
    """A line per statement that a reader asks about: how many of its claims have which outcome, and the answer."""
    asked = [statement for statement in known if statement.question]
    return _rows("question", "answer", {one.question: (one, one.answer) for one in asked}, seeds)


def _rows(first: str, last: str, rows: Mapping[str, tuple[Statement, str]], seeds: Sequence[Seed]) -> str:
    """A table with a line per statement: how many of its claims have which outcome on each seed, and a sentence."""
    lines = [
        f"| {head} | {_outcomes_by_seed(statement, seeds)} | {_quoting(sentence, seeds)} |"
        for head, (statement, sentence) in rows.items()
    ]
    columns = " | ".join(f"seed {seed.seed}" for seed in seeds)
    return "\n".join([f"| {first} | {columns} | {last} |", "|---|" + "---|" * len(seeds) + "---|", *lines])


def _expected_errors(seeds: Sequence[Seed]) -> str:
    """How many verdicts are expected to be wrong, and how many remain if they are decided together."""
    verdicts = [one.verdict for seed in seeds for one in seed.found.values() if not one.verdict.sanity]
    within = _decided(verdicts, [verdict.holm_p for verdict in verdicts])
    overall = _decided(verdicts, holm([verdict.p for verdict in verdicts]))
    judged = ({name for name, one in seed.found.items() if not one.verdict.sanity} for seed in seeds)
    everywhere = set.intersection(*judged)
    text = (
        f"Sanity checks aside, the seeds have {len(verdicts)} verdicts, and {_decided(verdicts)} of them are decided. "
        f"An interval of 95 % leads to a wrong verdict with a probability of {100 * TOTAL:g} % at most, because the "
        f"truth lies on one side of a bound: at most {_above(TOTAL * len(verdicts))} are expected to be wrong. "
        "For skewed values, [more](statistics.md#false-verdicts)."
    )
    if len(seeds) > 1:
        bound = _above(TOTAL ** len(seeds) * len(everywhere))
        text += f" Seeds share no teachers: at most {bound} of {len(everywhere)} claims are expected to be wrong on "
        text += "every seed."
    return text + (
        f" Decided together by Holm's method, {overall} verdicts remain if all are one family: with a probability of "
        f".95 none of these is wrong; {within} if each suite of a seed is a family."
    )


def _decided(verdicts: Sequence[Verdict], adjusted: Iterable[float] = itertools.repeat(0.0)) -> int:
    """How many verdicts are decided, and remain so with an adjusted p; values that do not differ have none (nan)."""
    return sum(v.verdict != "undecided" and not p > ALPHA for v, p in zip(verdicts, adjusted, strict=False))


def _above(value: float) -> str:
    """A number with two digits, rounded up, because it is a bound."""
    scale = 10.0 ** (1 - math.floor(math.log10(value))) if value > 0 else 1.0
    return f"{math.ceil(round(value * scale, 6)) / scale:.2g}"


def _table(known: Sequence[Statement], seeds: Sequence[Seed]) -> str:
    """A line per statement with claims: how many of them have which outcome, and what the strongest loser leaves."""
    rows = {f"**{one.source}**: {one.says}": (one, one.strongest_loser) for one in known if one.claims}
    return _rows("theorem or figure", "what its strongest loser leaves of it", rows, seeds)


def _outcomes_by_seed(statement: Statement, seeds: Sequence[Seed]) -> str:
    """How many claims of a statement have which outcome, in a cell of a table for each seed."""
    cells = [Counter(word for name in statement.claims for word in _outcomes(name, [seed])) for seed in seeds]
    return " | ".join(
        ", ".join(
            f"{cell[word]}{' ' * (len(sign) > 1)}{sign}" for word, sign in SIGNS_OF_OUTCOMES.items() if cell[word]
        )
        for cell in cells
    )


def _quoting(sentence: str, seeds: Sequence[Seed]) -> str:
    """A sentence with the estimates of every seed; empty if a claim that it quotes was not run."""

    def estimates(name: str) -> str:
        found = [number(seed.found[name].verdict.estimate) for seed in seeds if name in seed.found]
        return " / ".join(dict.fromkeys(found))

    if not all(estimates(name) for name in QUOTED.findall(sentence)):
        return ""
    return QUOTED.sub(lambda quoted: estimates(quoted[1]), sentence)


def _contradicted_claims(names: Sequence[str], seeds: Sequence[Seed], known: Statements) -> str:
    """The claims that a seed contradicts."""
    listed = [name for name in names if "contradicted" in _outcomes(name, seeds)]
    return "\n".join(["## Contradicted", "", *(_remarks(listed, seeds, known, meant=True) or ["None."])])


def _undecided_claims(names: Sequence[str], seeds: Sequence[Seed], known: Statements) -> str:
    """How many claims each suite leaves undecided on a seed and contradicted on none, and the remarks on them."""
    listed = [name for name in names if "undecided" in (said := _outcomes(name, seeds)) and "contradicted" not in said]
    left = Counter(name.partition("/")[0] for name in listed)
    counts = ", ".join(f"{count} of `{suite}`" for suite, count in left.most_common()) or "None"
    needed = " What would decide each is in the column `needed` of [claims.csv](claims.csv)." * bool(left)
    lines = _remarks(listed, seeds, known)
    return "\n".join(["## Undecided", "", f"{counts}.{needed}", *[""] * bool(lines), *lines])


def _remarks(names: Sequence[str], seeds: Sequence[Seed], known: Statements, *, meant: bool = False) -> list[str]:
    """A line per remark on some of these claims: what was found of them, what that means, and the remark."""
    about = [(remark, [name for name in remark.claims if name in names]) for remark in known.remark]
    return [
        f"- {', '.join(_found_of(name, seeds) for name in of)}: {f'*{remark.means}.* ' * meant}{remark.says}"
        for remark, of in about
        if of
    ]


def _found_of(name: str, seeds: Sequence[Seed]) -> str:
    """A claim with its region, and what each seed found of it."""
    found = [seed.found[name] for seed in seeds if name in seed.found]
    return f"`{name}` ({found[0].verdict.region}: {' / '.join(one.numbers for one in found)})"


def _untested(known: Sequence[Statement]) -> str:
    lines = [f"- **{one.source}**: {one.says}. Not tested: {one.not_shown}." for one in known if one.not_shown]
    return "## Statements without a claim\n\n" + "\n".join(lines)


def _not_run(reasons: Mapping[str, str]) -> str:
    lines = [f"- `{suite}`: {reason}." for suite, reason in reasons.items()]
    return "## Suites that were not run\n\n" + "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
