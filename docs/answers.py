"""The pictures and tables of pages that answer a question of our own, made from the runs in ``runs/``.

python docs/answers.py SUITE [STORE...]    draws images/SUITE.svg and prints the table
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
ROUNDS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
FIRST = 8
"""Replicates that every cell of ``recovery`` has."""
RECOVERED = 1e-10
"""The NMSE below which a target of ``recovery`` counts as recovered."""
RECOVERERS = {
    "joint": "gradients",
    "gauss-newton": "Gauss-Newton",
    "layerwise": "layer by layer",
    "correcting": "correcting kernel",
}
"""What pictures call the labels of ``recovery``, which end with the number of layers."""
DEPTHS = ["#440154", "#3b528b", "#21918c", "#5ec962", "#d0b000"]
RATIOS = alt.Scale(type="log", domain=[1.1, 5.5])
WEIGHTS = 128
"""p of the targets of ``noise-border``."""
SIZES, NOISES = [500, 1000, 2000, 4000, 8000, 16000], [0.003, 0.01, 0.03, 0.1, 0.3, 1]
POINTS = alt.X(
    "n:Q", title="points n", axis=alt.Axis(values=SIZES), scale=alt.Scale(type="log", domain=[350, 23000], nice=False)
)
OPT = alt.Y(
    "opt:Q", title="OPT", axis=alt.Axis(values=NOISES), scale=alt.Scale(type="log", domain=[0.00165, 1.8], nice=False)
)
COLOUR = alt.Color(
    "ratio:Q", title="error of joint training / of frozen layers",
    scale=alt.Scale(type="log", scheme="blueorange", domain=[0.1, 10], domainMid=1, clamp=True),
    legend=alt.Legend(orient="top", gradientLength=220, titleLimit=300, values=[0.1, 0.3, 1, 3, 10]),
)  # fmt: skip
INK = alt.condition("datum.ratio < 0.2 || datum.ratio > 5", alt.value("white"), alt.value("black"))


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
        scale=alt.Scale(domain=[0, 300]),
        axis=alt.Axis(values=[1, 64, 128, 192, 256]),
    )
    lines = alt.Chart(rounds.dropna()).mark_line(point=True).encode(x, y.title(None), colour, detail="features:N")
    ends = rounds.dropna().query("learner == 'least squares'").groupby("features").tail(1)
    ends = ends.assign(text="k = " + ends.features.astype(int).astype(str))
    names = alt.Chart(ends).mark_text(align="left", dx=6).encode(x, y.title(None), text="text:N")
    return alt.hconcat(left.properties(width=270, height=250), (lines + names).properties(width=270, height=250))


def recovery(stores: list[str]) -> alt.Chart:
    """The share of targets that are recovered against n / p: a panel for each d, a line for each depth.

    Prints the CPU time, this share, and the geometric mean of the NMSE over the first teachers of each store.
    """
    rows = rows_of("recovery", stores)
    print((rows.groupby("seed").fit_cpu_seconds.sum() / 60).map("{:.0f} CPU minutes".format).to_string(), end="\n\n")
    rows = rows[rows.replicate < FIRST].copy()
    rows["layers"] = rows.task.str.removeprefix("L").astype(int)
    rows["learner"] = rows.label.str.replace(r"-L\d$", "", regex=True).map(RECOVERERS)
    rows["weights"] = 4 * rows.d + 2 * (rows.d + 4) + 2 * (rows.layers - 3) * (rows.d + 2)
    rows["ratio"] = (rows.n / rows.weights).round(1)
    rows["recovered"] = rows.nmse < RECOVERED
    rows["log"] = np.log10(rows.nmse)
    by = ["learner", "layers", "d", "ratio"]
    shares = rows.groupby(by).agg(share=("recovered", "mean"), error=("log", "mean")).reset_index()
    table = shares.pivot(index=["learner", "layers", "d"], columns="ratio")
    print(table.share.map("{:.2f}".format).to_string(), (10**table.error).map("{:.1e}".format).to_string(), sep="\n\n")

    finished = rows[rows.learner == "Gauss-Newton"].nmse
    low, high = (finished < 1e-24).sum(), (finished > 0.01).sum()
    print(f"\nGauss-Newton: {low} of {len(finished)} fits below 1e-24, {high} above .01")

    shares = shares[shares.learner.isin(["gradients", "Gauss-Newton"])]
    return (
        alt.Chart(shares.assign(depth=shares.layers.astype(str)))
        .mark_line(point=True)
        .encode(
            alt.X("ratio:Q", title="points / weights", scale=RATIOS, axis=alt.Axis(values=[1.2, 1.5, 2, 3, 5])),
            alt.Y("share:Q", title="share recovered", scale=alt.Scale(domain=[0, 1])),
            alt.Color("depth:N", title="layers", scale=alt.Scale(domain=list("34567"), range=DEPTHS)),
            alt.Shape("depth:N", title="layers", scale=alt.Scale(domain=list("34567"))),
            alt.Column("learner:N", title=None, sort=["gradients", "Gauss-Newton"]),
            alt.Row("d:O", title=None, header=alt.Header(labelExpr="'d = ' + datum.value")),
        )
        .properties(width=230, height=110)
    )


def noise_border(stores: list[str]) -> alt.HConcatChart:
    """The error of joint training over that of the best frozen layers, for each OPT and n: a panel for each alpha_3.

    Prints the CPU time, and as geometric means over the teachers of all stores: this ratio, that of ``grow``, the error
    of frozen layers, what noise costs joint training as a multiple of OPT p / n, and the OPT where the ratio is 2 / 3.
    """
    rows = rows_of("noise-border", stores)
    print((rows.groupby("seed").fit_cpu_seconds.sum() / 60).map("{:.0f} CPU minutes".format).to_string(), end="\n\n")
    names = rows.task.str.extract(r"alpha-(?P<alpha>[\d.]+):opt(?P<opt>[\d.]+)").astype(float)
    rows = rows.assign(alpha=names.alpha, opt=names.opt, log=np.log(rows.nmse))
    logs = rows.groupby(["alpha", "opt", "n", "label"]).log.mean().unstack()
    frozen = logs[["frozen-sum", "frozen-signed"]].min(axis=1)
    ratios = np.exp(logs[["joint", "grow"]].sub(frozen, axis=0))
    opt, n = (ratios.index.get_level_values(name) for name in ("opt", "n"))
    costs = np.exp(logs.joint) * n / (opt * WEIGHTS)
    borders = {
        (alpha, n): np.exp(np.interp(np.log(2 / 3), np.log(at_n).cummax(), np.log(NOISES)))
        for (alpha, n), at_n in ratios.joint.groupby(["alpha", "n"])
    }
    for name, values, form in (
        ("joint", ratios.joint, "{:.2f}"), ("grow", ratios.grow, "{:.2f}"),
        ("frozen", np.exp(frozen), "{:.1e}"), ("noise", costs, "{:.1f}"), ("border", pd.Series(borders), "{:.2g}"),
    ):  # fmt: skip
        print(name, values.unstack().map(form.format).to_string(), sep="\n", end="\n\n")

    cells = ratios.joint.rename("ratio").reset_index()
    cells = cells.assign(left=cells.n / 2**0.5, right=cells.n * 2**0.5, low=cells.opt / 1.8, high=cells.opt * 1.8)
    panels = []
    for alpha, panel in cells.groupby("alpha"):
        border = pd.DataFrame([{"n": n, "opt": alpha**2 / 10 * n / WEIGHTS} for n in (350, 23000)])
        line = alt.Chart(border).mark_line(clip=True, color="black", strokeWidth=5, opacity=0.3).encode(POINTS, OPT)
        rects = (
            alt.Chart(panel)
            .mark_rect(stroke="white")
            .encode(alt.X("left:Q", title="points n"), alt.Y("low:Q", title="OPT"), COLOUR, x2="right", y2="high")
        )
        text = alt.Chart(panel).mark_text(fontSize=11).encode(POINTS, OPT, alt.Text("ratio:Q", format=".2f"), color=INK)
        panels.append((rects + line + text).properties(width=300, height=240, title=f"alpha_3 = {alpha:g}"))
    return alt.hconcat(*panels)


ANSWERS = {"identity-link": identity_link, "recovery": recovery, "noise-border": noise_border}

if __name__ == "__main__":
    match sys.argv[1:]:
        case [suite, *stores] if suite in ANSWERS:
            chart = ANSWERS[suite](stores or [str(HERE / "runs" / f"seed-{seed}.zip") for seed in (0, 1)])
            chart.save(HERE / "images" / f"{suite}.svg")
        case _:
            sys.exit(__doc__)
