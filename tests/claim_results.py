"""Synthetic rows, suites with claims about them, and the verdicts."""

import math

import numpy as np

from bfc_bench.analysis.claims import finding_of, parse_claims as parse, verdicts_on
from bfc_bench.learner import Theory
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.seeds import stream
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows
from bfc_bench.suite.model import Suite

D, N = 20, 400
DIMS = (8, 12, 18, 27)
GRID = tuple(20 * 2**k for k in range(11))
PLUGINS = load_plugins()


def expected(d):
    """N*(.1) of the theory: 300 at d = 20, and over ``DIMS`` no power of d."""
    return 300 * (d / D) ** 1.5 * math.exp(0.3 * math.log(d / D) ** 2)


THEORIES = {("t", d, "a"): Theory(lambda n, d=d: 1 / (1 + 9 * (n / expected(d)) ** 3), "this file") for d in (D, *DIMS)}
SWEEP = {"a1": 0.1, "a2": 0.3, "a3": 1.0}


def cell(label, replicate, value=None, *, task="t", d=D, n=N, **fields):
    """A row with an NMSE; without a value the cell diverged."""
    status = {"status": "ok", "nmse": value} if value is not None else {"status": "diverged", "reason": "nan"}
    return Row(
        cell=f"{task}-{label}-{d}-{n}-{replicate}", suite="s", suite_version=1, task=task, learner="l", label=label,
        options={}, d=d, n=n, replicate=replicate, **{**status, **fields},
    )  # fmt: skip


def cells(label, values, **fields):
    """One row per replicate; None is a cell that diverged."""
    return [cell(label, r, None if v is None else float(v), **fields) for r, v in enumerate(values)]


def spread(name, size=5, sd=0.3):
    """Log-normal factors around 1, always the same for a name."""
    x = stream("test claims", name).standard_normal(size)
    return np.exp(sd * (x - x.mean()) / x.std(ddof=1))


def curve(label, n_star, d=D, task="t"):
    """Error 1 / (1 + 9 (n / N*)^3), which is .1 at N*, at n = 20..20480."""
    return [
        cell(label, replicate, float(1 / (1 + 9 * (n / star) ** 3)), task=task, d=d, n=n)
        for replicate, star in enumerate(n_star)
        for n in GRID
    ]


def suite(*claims, learners=("a", "b", "c"), tasks=("t", *SWEEP)):
    target = {"kind": "quadratic-densenet"}
    return Suite.parse(
        {
            "name": "s",
            "task": [{"name": t, "inputs": {"kind": "uniform"}, "target": target, "d": [D], "n": [N]} for t in tasks],
            "learner": [{"name": "l", "label": label} for label in learners],
            "claim": [{"id": f"claim-{i}", **claim} for i, claim in enumerate(claims)],
        },
        "s.toml",
    )


def parse_claims(described, where):
    return parse(described, PLUGINS.claims, where)


def judge(claims, rows, theories=None):
    """A verdict per claim on the rows of their suite, given the theories of its learners."""
    rows = Rows.of(rows)
    return verdicts_on([(claim, finding_of(claim.among({}, theories or {}), rows)) for claim in claims])


def verdict(claim, rows, theories=THEORIES):
    (found,) = judge(parse_claims(suite(claim), "s.toml"), rows, theories)
    return found
