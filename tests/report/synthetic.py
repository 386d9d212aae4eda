"""Rows as a real suite leaves them: joint training to 1e-7, a layerwise floor at 1e-2, kernels at 1e-1, faults of each kind."""

import numpy as np

from bfc_bench.results import Row

SIZES = (100, 200, 400, 700, 1000)
DIMS = (10, 20, 40)
INJECTION = "<script>alert('x')</script> & \"quoted\""

LAWS = {
    "joint": lambda n, d: np.maximum(0.9 / (1 + np.exp((n / d - 9.5) * 1.1)), 2e-7 * d / 20 * (1000 / n)),
    "grow": lambda n, d: np.maximum(0.9 / (1 + np.exp((n / d - 10.5) * 0.9)), 4e-6 * d / 20 * (1000 / n)),
    "layerwise": lambda n, d: np.maximum(0.9 / (1 + np.exp((n / d - 9.5) * 0.8)), 0.012 * (1000 / n) ** 0.2),
    "kernel poly-2 (squares)": lambda n, d: 0.15 * (1000 / n) ** 0.9 * (d / 20) ** 0.8,
    "kernel ntk (raw)": lambda n, d: np.minimum(1.0, 0.95 * (1000 / n) ** 0.03 * (d / 20) ** 0.05),
}
OPTIONS = {"joint": ("quad-densenet", {"widths": [20, 12], "steps": 3000}), "grow": ("grow", {"widths": [20, 12]})}
FEATURES = {
    "joint": {"after layer 2": (1.4e-2, None), "final": (2e-7, 8e-7)},
    "layerwise": {"after layer 2": (1.4e-2, None), "final": (1.4e-2, 3e-2)},
    "grow": {"after layer 2": (1.5e-2, None), "final": (3e-6, 9e-6)},
}


def row(**fields):
    """A row with every required field; anything can be overridden."""
    base = {
        "cell": "-".join(str(fields.get(k)) for k in ("task", "label", "d", "n", "replicate")),
        "suite": "bfc", "suite_version": 1, "task": "teacher-L3", "learner": "quad-densenet", "label": "joint",
        "options": {}, "d": 20, "n": 400, "replicate": 0, "status": "ok", "provenance": "session-1",
    }  # fmt: skip
    return Row(**(base | fields))


def measured(rng, task, label, d, n, replicate, replicates):
    """One cell of the grid, with a log-normal spread and, for the Gaussian task, a heavy tail."""
    nmse = float(LAWS[label](n, d) * np.exp(0.35 * rng.standard_normal()))
    heavy = float(np.exp(abs(rng.standard_normal()) * 1.2)) if "gaussian" in task else 1.02
    stages = {}
    features = {}
    if label in FEATURES:
        for stage, (second, third) in FEATURES[label].items():
            found = {"S2": second * float(np.exp(0.4 * rng.standard_normal()))}
            if third is not None:
                found["S3"] = third * float(np.exp(0.4 * rng.standard_normal()))
            if stage == "final":
                features = found
            else:
                stages[stage] = {"nmse": 0.09, "nmse_trimmed": 0.08, "error_rate": None, "feature_errors": found}
    learner, options = OPTIONS.get(label, (label.split()[0], {"kind": label}))
    return row(
        task=task, learner=learner, label=label, options=options, d=d, n=n, replicate=replicate,
        nmse=nmse * heavy, nmse_trimmed=nmse, train_nmse=nmse / 2, feature_errors=features, stages=stages,
        chosen={"candidates": 2, "tuned": {"lr": [0.003, 0.01][replicate % 2]}, "validation_error": nmse} | ({"oracle": ["alphas"]} if label == "grow" else {}),
        fit_cpu_seconds=0.2 + 1e-3 * n * rng.random(), fit_wall_seconds=0.3, trained_together=replicates,
        peak_memory_bytes=180_000_000 + 90_000 * n, device="cpu", dtype="float32", seed=replicate, finished_at=1.7e9 + n,
    )  # fmt: skip


def rows(tasks=("teacher-L3", "teacher-L3-gaussian"), replicates=5, seed=0):
    """The whole grid, with a diverged and a failed replicate, a task one label skips, and one label of one replicate."""
    rng = np.random.default_rng(seed)
    out = []
    for task in tasks:
        for label in LAWS:
            count = 1 if label == "kernel ntk (raw)" else replicates
            for d in DIMS:
                for n in SIZES:
                    for r in range(count):
                        cell = measured(rng, task, label, d, n, r, count)
                        where = {
                            k: getattr(cell, k) for k in ("task", "learner", "label", "options", "d", "n", "replicate")
                        }
                        if label == "grow" and d == 40 and n == 200:
                            cell = row(**where, status="timeout", reason="ran past the cell's limit of 120 s")
                        elif label == "grow" and r == 3 and d == 20:
                            cell = row(**where, status="diverged", reason="loss is nan at step 812 of 3000")
                        elif label == "layerwise" and d == 40 and n == 1000 and r == 0:
                            cell = row(**where, status="failed", reason=f"ValueError: {INJECTION}")
                        out.append(cell)
    out += [
        row(task=tasks[0], learner="relu-mlp", label="relu-mlp", d=d, n=n, replicate=r, status="skipped",
            reason="needs 9.7 GB, the budget is 8 GB")
        for d in DIMS for n in SIZES for r in range(replicates)
    ]  # fmt: skip
    return out


SUITE = {
    "name": "bfc",
    "version": 1,
    "description": "Joint training against layerwise training and kernels on quadratic DenseNet teachers of depth 3.",
    "replicates": 5,
    "seed": 0,
    "test_size": 20000,
    "budget": {"cell_seconds": 120, "memory_gb": 8},
    "task": [
        {"name": "teacher-L3", "inputs": {"kind": "uniform"}, "target": {"kind": "quadratic-densenet", "widths": [4, 2]},
         "labels": {"kind": "clean"}, "d": list(DIMS), "n": list(SIZES)},
        {"name": "teacher-L3-gaussian", "inputs": {"kind": "gaussian"}, "target": {"kind": "quadratic-densenet"},
         "labels": {"kind": "clean"}, "d": list(DIMS), "n": list(SIZES)},
    ],
}  # fmt: skip

SESSIONS = [
    {"id": f"session-{i}", "started_at": 1.7e9 + 1000 * i, "finished_at": 1.7e9 + 1000 * i + 605, "definition": SUITE,
     "provenance": {
         "command": "bfc-bench run bfc --jobs 2", "git": {"commit": "0123abcd", "dirty": False}, "threads": 1,
         "versions": {"python": "3.11.9", "torch": "2.13.0", "jax": "0.10.2"}, "tf32": False,
         "machine": {"cpu": "Example CPU, 2 cores", "memory_gb": 16, "gpu": None}}}
    for i in (1, 2)
]  # fmt: skip

CLAIMS = [
    {"id": "layerwise", "source": "BFC 1.2, Figure 6", "kind": "beats", "verdict": "supported",
     "text": "joint over layerwise at n = 1000: ratio 1.6e-5 [1.1e-5, 2.4e-5]", "p": 1e-6, "p_holm": 2e-6},
    {"id": "agnostic", "source": "BFC Theorem 3", "kind": "reaches", "verdict": "undecided", "text": "no row", "p": None},
]  # fmt: skip
