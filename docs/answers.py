"""The pictures and tables of pages that answer a question of our own, made from the runs in ``runs/``.

python docs/answers.py identity-link [STORE...]    draws images/identity-link.svg and prints the table
"""

import sys
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

import bfc_bench

HERE = Path(__file__).parent
TEACHER = ["seed", "task", "replicate"]
LINKS = {
    "link": "gradients, identity link",
    "joint": "gradients, all links",
    "least-squares": "least squares",
    "low-rank": "least squares, two squares",
}
"""What pictures call the labels of ``identity-link``."""
COLOURS = ["#D55E00", "#0072B2", "#009E73", "#CC79A7"]
ALPHAS = {"alpha-0.03": 0.03, "alpha-0.1": 0.1, "alpha-0.3": 0.3, "alpha-1": 1.0}
FEATURES = {"features-2": 2, "alpha-0.3": 4, "features-8": 8}
"""Tasks by k_2."""
ROUNDS = (1, 2, 4, 8, 16, 32, 64)


def rows_of(suite: str, stores: list[str]) -> pd.DataFrame:
    """The rows of a suite in stores or bundles, with a column ``seed`` that tells the stores apart."""
    frames = []
    for path in stores:
        with bfc_bench.open_store(path) as results:
            frames.append(results[suite].frame().assign(seed=path))
    return pd.concat(frames).query("status == 'ok'")


def identity_link(stores: list[str]) -> alt.HConcatChart:
    """The squared error in layer 2 over that of layer-wise training, against alpha_3 and against rounds.

    Prints its geometric means over the teachers of each store.
    """
    rows = rows_of("identity-link", stores)
    frozen = rows[rows.label == "layerwise"].set_index(TEACHER)["stages.layer2.feature_errors.S2"]
    rows = rows[rows.label != "layerwise"].join(frozen.rename("frozen"), on=TEACHER)
    rows["learner"] = rows.label.str.replace(r"-[28]$", "", regex=True).map(LINKS)

    def shares(column: str, *by: str) -> pd.DataFrame:
        logs = np.log((rows[column] / rows.frozen).astype(float))
        means = np.exp(logs.groupby([rows[name] for name in ("task", "learner", *by)]).mean())
        return means.reset_index(name="share").dropna()

    table = shares("feature_errors.S2", "seed").pivot(index="task", columns=["learner", "seed"], values="share")
    print(table.map("{:.2g}".format).to_string())
    alphas = shares("feature_errors.S2")
    alphas["alpha_3"] = alphas.task.map(ALPHAS)
    rounds = pd.concat([shares(f"stages.round{r}.feature_errors.S2").assign(round=r) for r in ROUNDS])
    rounds["features"] = rounds.task.map(FEATURES)

    colour = alt.Color(
        "learner:N", title=None, scale=alt.Scale(domain=list(LINKS.values()), range=COLOURS),
        legend=alt.Legend(orient="top", columns=2, labelLimit=300),
    )  # fmt: skip
    y = alt.Y(
        "share:Q", title="error in layer 2 / that of layer-wise training",
        scale=alt.Scale(type="log", domain=[1e-10, 4]),
        axis=alt.Axis(values=[10.0**power for power in range(0, -11, -2)], format=".0e"),
    )  # fmt: skip
    left = (
        alt.Chart(alphas.dropna())
        .mark_line(point=True)
        .encode(
            alt.X(
                "alpha_3:Q", scale=alt.Scale(type="log", domain=[0.025, 1.2]), axis=alt.Axis(values=[0.03, 0.1, 0.3, 1])
            ),
            y,
            colour,
        )
    )
    x = alt.X(
        "round:Q",
        title="rounds of least squares, alpha_3 = 0.3",
        scale=alt.Scale(domain=[0, 74]),
        axis=alt.Axis(values=[1, 8, 16, 32, 64]),
    )
    lines = alt.Chart(rounds.dropna()).mark_line(point=True).encode(x, y.title(None), colour, detail="features:N")
    ends = rounds.dropna().query("round == 64 and learner == 'least squares'")
    ends = ends.assign(text="k = " + ends.features.astype(int).astype(str))
    names = alt.Chart(ends).mark_text(align="left", dx=6).encode(x, y.title(None), text="text:N")
    return alt.hconcat(left.properties(width=270, height=250), (lines + names).properties(width=270, height=250))


ANSWERS = {"identity-link": identity_link}

if __name__ == "__main__":
    match sys.argv[1:]:
        case [suite, *stores] if suite in ANSWERS:
            chart = ANSWERS[suite](stores or [str(HERE / "runs" / f"seed-{seed}.zip") for seed in (0, 1)])
            chart.save(HERE / "images" / f"{suite}.svg")
        case _:
            sys.exit(__doc__)
