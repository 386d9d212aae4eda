"""Rows as a real suite leaves them: joint training to 1e-7, a layerwise floor, kernels at 1e-1, each kind of fault."""

import math

import numpy as np

from bfc_bench.analysis.claims import Verdict
from bfc_bench.analysis.thresholds import NStar, NStars
from bfc_bench.store.row import Row

SIZES = (100, 200, 400, 700, 1000)
DIMS = (10, 20, 40)
REPLICATES = 5
INJECTION = "<script>alert('x')</script> & \"quoted\""

LAWS = {
    "joint": lambda n, d: np.maximum(0.9 / (1 + np.exp((n / d - 9.5) * 1.1)), 2e-7 * d / 20 * (1000 / n)),
    "grow": lambda n, d: np.maximum(0.9 / (1 + np.exp((n / d - 10.5) * 0.9)), 4e-6 * d / 20 * (1000 / n)),
    "layerwise": lambda n, d: np.maximum(0.9 / (1 + np.exp((n / d - 9.5) * 0.8)), 0.012 * (1000 / n) ** 0.2),
    "kernel poly-2 (squares)": lambda n, d: 0.15 * (1000 / n) ** 0.9 * (d / 20) ** 0.8,
    "kernel ntk (raw)": lambda n, d: 0.9 * (1000 / n) ** 0.03 * (d / 20) ** 0.05,
}
"""NMSE by label, as a function of n and d."""
LEARNERS = {"joint": ("quad-densenet", {"widths": [20, 12], "steps": 3000}), "grow": ("grow", {"widths": [20, 12]})}
EARLY, FINAL = "after layer 2", "final"
FEATURES = {
    "joint": {EARLY: {"S2": 1.4e-2}, FINAL: {"S2": 2e-7, "S3": 8e-7}},
    "layerwise": {EARLY: {"S2": 1.4e-2}, FINAL: {"S2": 1.4e-2, "S3": 3e-2}},
    "grow": {EARLY: {"S2": 1.5e-2}, FINAL: {"S2": 3e-6, "S3": 9e-6}},
}
"""P_l by label and stage."""


def row(**fields):
    """A row with every required field; anything can be overridden."""
    base = {
        "cell": "-".join(str(fields.get(k)) for k in ("task", "label", "d", "n", "replicate")),
        "suite": "bfc", "suite_version": 1, "task": "teacher-L3", "learner": "quad-densenet", "label": "joint",
        "options": {}, "d": 20, "n": 400, "replicate": 0, "status": "ok", "provenance": "session-1",
    }  # fmt: skip
    return Row(**(base | fields))


def rows(tasks=("teacher-L3", "teacher-L3-gaussian"), replicates=REPLICATES, seed=0):
    """The whole grid, with faults; ``kernel ntk (raw)`` has one replicate and ``relu-mlp`` is skipped on one task."""
    rng = np.random.default_rng(seed)
    out = [
        _cell(rng, task=task, label=label, d=d, n=n, replicate=replicate)
        for task in tasks
        for label in LAWS
        for d in DIMS
        for n in SIZES
        for replicate in range(1 if label == "kernel ntk (raw)" else replicates)
    ]
    skipped = {"label": "relu-mlp", "learner": "relu-mlp", "status": "skipped", "reason": "needs 9.7 GB of memory"}
    out += [
        row(task=tasks[0], d=d, n=n, replicate=r, **skipped) for d in DIMS for n in SIZES for r in range(replicates)
    ]
    return out


def _cell(rng, **at):
    label, d, n, replicate = at["label"], at["d"], at["n"], at["replicate"]
    learner, options = LEARNERS.get(label, (label.split()[0], {}))
    at |= {"learner": learner, "options": options}
    measured = row(**at, **_measured(rng, at))
    if label == "grow" and (d, n) == (40, 200):
        return row(**at, status="timeout", reason="ran past the cell's limit of 120 s")
    if label == "grow" and (d, replicate) == (20, 3):
        return row(**at, status="diverged", reason="loss is nan at step 812 of 3000")
    if label == "layerwise" and (d, n, replicate) == (40, 1000, 0):
        return row(**at, status="failed", reason=f"ValueError: {INJECTION}")
    return measured


def _measured(rng, at):
    """What a fit leaves: log-normal spread, and for the Gaussian task a heavy tail that trimming removes."""
    nmse = float(LAWS[at["label"]](at["n"], at["d"]) * np.exp(0.35 * rng.standard_normal()))
    tail = float(np.exp(1.2 * abs(rng.standard_normal()))) if "gaussian" in at["task"] else 1.02
    stages = {
        stage: {layer: p * float(np.exp(0.4 * rng.standard_normal())) for layer, p in layers.items()}
        for stage, layers in FEATURES.get(at["label"], {}).items()
    }
    final = stages.pop(FINAL, {})
    chosen = {"candidates": 2, "tuned": {"lr": [0.003, 0.01][at["replicate"] % 2]}, "validation_error": nmse}
    if at["label"] == "grow":
        chosen["oracle"] = ["alphas"]
    return {
        "nmse": nmse * tail, "nmse_trimmed": nmse, "train_nmse": nmse / 2, "feature_errors": final, "chosen": chosen,
        "stages": {stage: {"nmse": 0.09, "nmse_trimmed": 0.08, "feature_errors": p} for stage, p in stages.items()},
        "fit_cpu_seconds": 0.2 + 1e-3 * at["n"] * rng.random(), "fit_wall_seconds": 0.3, "trained_together": 5,
        "peak_memory_bytes": 180_000_000 + 90_000 * at["n"], "device": "cpu", "dtype": "float32",
        "seed": at["replicate"], "finished_at": 1.7e9 + at["n"],
    }  # fmt: skip


GRID = {"labels": {"kind": "clean"}, "d": list(DIMS), "n": list(SIZES)}
TARGET = {"kind": "quadratic-densenet", "widths": [4, 2], "alphas": [1.0, 0.3]}
SUITE = {
    "name": "bfc",
    "version": 1,
    "description": "Joint training against layerwise training and kernels on quadratic DenseNet teachers of depth 3.",
    "replicates": REPLICATES,
    "seed": 0,
    "test_size": 20000,
    "levels": [0.1, 0.01],
    "budget": {"cell_seconds": 120, "memory_gb": 8},
    "task": [
        {"name": "teacher-L3", "inputs": {"kind": "uniform"}, "target": TARGET, **GRID},
        {"name": "teacher-L3-gaussian", "inputs": {"kind": "gaussian"}, "target": TARGET, **GRID},
    ],
}
PROVENANCE = {
    "command": "bfc-bench run bfc --jobs 2",
    "packages": {"bfc-bench": "0.1.0", "torch": "2.13.0", "jax": "0.10.2", "neural-tangents": None},
    "processor": "Example CPU, 2 cores",
    "git": "0123abcd+",
    "tf32": False,
}
SESSIONS = [
    {
        "id": f"session-{i}",
        "started_at": 1.7e9 + 1000 * i,
        "finished_at": None,
        "definition": SUITE,
        "provenance": PROVENANCE,
    }
    for i in (1, 2)
]
VERDICTS = [
    Verdict(
        id="layerwise", kind="beats", source="BFC 1.2, Figure 6",
        statement="The NMSE of joint is at most 1/100 of that of layerwise (teacher-L3, d = 40, n = 1000).",
        verdict="supported", estimate=1.6e-5, lo=1.1e-5, hi=2.4e-5, region="≤ 0.01", replicates=5, p=1e-6, holm_p=2e-6,
    ),
    Verdict(
        id="agnostic", kind="reaches", source="BFC Theorem 3", statement="The NMSE of joint is at most 1e-9.",
        verdict="undecided", estimate=math.nan, lo=math.nan, hi=math.nan, region="≤ 1e-9", replicates=0, p=math.nan,
        note="no cells of joint at d = 99",
    ),
    Verdict(
        id="seq-kernel", kind="beats", source="BFC 3", statement="A kernel beats joint.", verdict="contradicted",
        estimate=800.0, lo=90.0, hi=math.inf, region="≤ 1", replicates=4, p=1e-3, holm_p=2e-3,
        note="1 of 5 cells of the kernel have no value (1 timeout)",
    ),
]  # fmt: skip


def n_star(replicate, n, censored=None, last=None):
    """N* of a replicate that is known, or a bound on one side."""
    lo, hi = 0.0 if censored == "left" else float(n), math.inf if censored == "right" else float(n)
    return NStar(replicate, lo, hi, last=last)


def n_stars(*replicates, level=0.1):
    """N* over replicates, of a learner a on a task t."""
    return NStars("t", 10, "a", "nmse", level, replicates)
