"""Installs packages with uv, and torch as its build for the CPU: ``python install.py OPTION_OR_REQUIREMENT...``.

That build takes 0.2 GB, and the one on PyPI for Linux, which is for CUDA, 3 GB. The first is on PyTorch's own index. uv
stops at an index that does not answer, so this index is named only if it answers now. If it does not, the build must be
where pip looks, in a folder of wheels or on a mirror: uv is told what pip's settings are.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path

INDEX = "https://download.pytorch.org/whl/cpu"
PATIENCE = 10
"""Seconds for the index to answer."""
CONSTRAINTS = Path(__file__).parents[1] / "constraints-cpu.txt"
TORCH = re.compile(r"torch\b(?!-)|.*\[(all|torch)\b")
"""A requirement that brings torch."""
VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
}
"""Settings of pip, and the variables that tell uv the same."""


def install(arguments: Sequence[str]) -> int:
    """Install what the arguments name into the active environment. Returns uv's exit code."""
    if shutil.which("uv") is None:
        say("uv, which installs, is not there: `python -m pip install uv`, in an active environment.")
        return 1
    environment = settings_of_pip() | os.environ
    command = ["uv", "pip", "install", *arguments]
    if not any(map(TORCH.match, arguments)):
        return subprocess.run(command, env=environment, check=False).returncode
    build = re.search(r"^torch.*", CONSTRAINTS.read_text(), re.MULTILINE)[0]
    if problem := unanswered(INDEX):
        say(f"{INDEX} does not answer ({problem}), so that {build} must come from elsewhere.")
    else:
        environment["UV_TORCH_BACKEND"] = "cpu"
    code = subprocess.run([*command, build], env=environment, check=False).returncode
    if code and problem:
        say(
            "If uv found no such torch: put its wheel into a folder and name the folder in PIP_FIND_LINKS, or name an "
            "index that has it in PIP_EXTRA_INDEX_URL. The build for CUDA is never taken in its place."
        )
    return code


def settings_of_pip() -> dict[str, str]:
    """Variables for uv, by pip's configuration files and variables."""
    if (pip := shutil.which("pip")) is None:
        return {}
    listed = subprocess.run([pip, "config", "list"], capture_output=True, text=True, check=False).stdout
    settings = {}
    for name, value in re.findall(r"^\S*\.([\w-]+)=(.*)$", listed, re.MULTILINE):  # the last one of a name counts
        if variable := VARIABLES.get(name):
            separator = "," if name == "find-links" else " "
            settings[variable] = separator.join(ast.literal_eval(value).split())
    if "UV_INDEX" in settings:  # pip takes the newest release of all indexes
        settings["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return settings


def unanswered(index: str) -> str:
    """Why the index cannot be asked for torch now; empty if it can."""
    try:
        urllib.request.urlopen(f"{index}/torch/", timeout=PATIENCE).close()
    except OSError as error:
        return str(getattr(error, "reason", error))
    return ""


def say(line: str) -> None:
    """Print a line beside uv's."""
    print(f"install.py: {line}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(install(sys.argv[1:]))
