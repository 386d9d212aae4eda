"""The notebook of the documentation runs from its first cell to its last."""

import os
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorials" / "notebook.ipynb"


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Jupyter's own
def test_the_notebook_runs(tmp_path, monkeypatch):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.delenv("PYTEST_CURRENT_TEST", raising=False)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    folder = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=folder).execute(env={**os.environ})
    printed = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", ()))
    assert "squares 200 ok True" in printed, "a run has the error that the notebook computed"
    assert "{'ok': 36}" in printed
    assert "supported - The NMSE of quadratic" in printed
    assert (tmp_path / "notebook-report" / "report.html").is_file()
