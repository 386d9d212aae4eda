"""What the README shows works as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import completed

TEXT = (Path(__file__).parents[2] / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


def test_the_python_section_is_a_script_that_runs(tmp_path):
    [script] = [block for block in BLOCKS if "load_task" in block]
    done = completed([sys.executable, "-W", "error::UserWarning", "-c", script], cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    error, *published = done.stdout.splitlines()
    assert 0 < float(error) < 1
    assert any("layerwise-sum" in line for line in published)


def test_the_verbs_of_the_table_are_those_that_help_lists_first(cli):
    start = cli("--help").stdout.partition(" Start ")[2].partition("╰")[0]
    named = re.findall(r"^\| `bfc-bench (\w+)", TEXT, flags=re.MULTILINE)
    assert named == re.findall(r"^│ (\w+)", start, flags=re.MULTILINE)


@pytest.mark.slow
def test_the_first_command_works_with_the_pythons_of_debian_and_ubuntu(tmp_path):
    """Theirs is managed by the system: pip refuses to install anything beside it (PEP 668)."""
    system = Path("/usr/bin/python3")
    if not system.exists() or not list(Path("/usr/lib").glob("python3*/EXTERNALLY-MANAGED")):
        pytest.skip("no python3 that the system manages")
    subprocess.run(["git", "clone", "--quiet", Path(__file__).parents[2], tmp_path / "clone"], check=True)
    [command] = re.findall(r"^    (python3 .* -e bench -- )run smoke$", TEXT, flags=re.MULTILINE)
    outside = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    outside["PATH"] = f"/usr/bin:{os.environ['PATH']}"
    done = completed(["bash", "-c", f"{command}--version"], cwd=tmp_path / "clone", env=outside, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bfc-bench 0." in done.stdout
    assert f"home = {system.parent}" in (tmp_path / "clone" / ".venv" / "pyvenv.cfg").read_text()
