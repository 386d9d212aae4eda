import os
import urllib.request

import pytest
from browser import Browser

from bfc_bench.extras.mlflow.sync import sync
from bfc_bench.extras.mlflow.views import saved_views

# What plotly drew: axis types, and how many filled bands and lines with markers there are.
CHARTS = """return [...document.querySelectorAll('.js-plotly-plot')]
.filter(plot => plot._fullLayout).map(plot => ({
    x: plot._fullLayout.xaxis.type,
    y: plot._fullLayout.yaxis.type,
    bands: plot.data.filter(trace => trace.fill).length,
    lines: plot.data.filter(trace => (trace.mode || '').includes('markers')).map(trace => trace.x.length),
}))"""
# MLflow opens a side panel when a browser sees it for the first time.
CLOSE_PANEL = "(document.querySelector('[aria-label=Close]') || document.body).click()"


@pytest.mark.browser
def test_the_saved_view_shows_every_learner_on_logarithmic_axes_offline(store_dir, uri, rows, served, tmp_path):
    sync(rows, uri, store_dir)
    with Browser(1600, 1300) as browser:
        views = saved_views(uri, suite="toy", version=1)
        browser.open(served[0] + views["teacher · d=10"])
        browser.wait("return document.querySelectorAll('.js-plotly-plot .scatterlayer .trace').length >= 6", seconds=60)
        browser.run(CLOSE_PANEL)
        charts = browser.run(CHARTS)
        text = browser.run("return document.body.innerText")
        browser.picture(tmp_path / "view.png")
    nmse = charts[0]
    assert (nmse["x"], nmse["y"]) == ("log", "log")
    assert nmse["bands"] == 3
    assert nmse["lines"] == [4, 4, 4]
    assert "Error against n" in text
    assert all(f"{label} (nmse)" in text for label in ("net", "kernel", "linear"))


def test_artifacts_logged_to_the_database_or_through_the_server_are_shown(uri, report_logged, served, tmp_path):
    directory = tmp_path / "report"
    directory.mkdir()
    (directory / "report.html").write_text("<h1>Report</h1>")
    by_database = report_logged(uri, directory, session="s1")
    url, process = served
    through_server = report_logged(url, directory, session="s2")
    for run in (by_database, through_server):
        with urllib.request.urlopen(f"{url}/get-artifact?path=report.html&run_uuid={run}") as answer:
            assert answer.read() == b"<h1>Report</h1>"
    assert report_logged(uri, directory, session="s2") == through_server
    process.terminate()
    process.wait(60)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
