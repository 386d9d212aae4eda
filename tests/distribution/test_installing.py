"""The commands that install the project take what they say: builds for the CPU, or one CUDA, in the locked releases."""

import importlib.util
import os
import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from package_index import Wheel, taken
from packaging.requirements import Requirement
from served_folder import served
from waiting import completed

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONSTRAINTS = "constraints-cpu.txt"
TORCHS_INDEX = "https://download.pytorch.org/whl/cpu"
CUDA = re.compile(r"nvidia|cuda|triton")
FOR_CUDA = ("nvidia-cublas", "nvidia-cudnn-cu13", "nvidia-nccl-cu13", "triton")
"""What torch 2.13.0 comes with on PyPI."""
needs_uv = pytest.mark.skipif(not shutil.which("uv"), reason="uv is not installed")


def commands(file):
    """Lines of a file that have pip install the project from its source, beginning with ``pip``."""
    lines = (ROOT / file).read_text().replace("\\\n", " ").replace("{{ packages }}", '-c constraints-cpu.txt ".[all]"')
    found = re.findall(r"\bpip install\b[^\n&#`]*", lines)
    source = re.compile(r"""[\s"']\.(\[[\w,]+\])?["']?(\s|$)""")
    return [line for line in found if source.search(line) and "--no-deps" not in line]


@pytest.fixture
def index(tmp_path):
    """Folders ``pypi`` and ``cpu``: the first has everything that the project names, and torch for CUDA."""
    project = PROJECT["project"]
    named = [*project["dependencies"], *(need for extra in project["optional-dependencies"].values() for need in extra)]
    for need in map(Requirement, named):
        if need.name not in ("bfc-bench", "torch", "jax", "cuda-toolkit"):
            oldest = min(each.version for each in need.specifier)
            Wheel(need.name, oldest).write(tmp_path / "pypi")
    for cuda, toolkit in ((12, "12.8.0"), (13, "13.0.2"), (14, "14.0.0")):
        Wheel(f"nvidia-cudnn-cu{cuda}", "9.20").write(tmp_path / "pypi")
        Wheel("cuda-toolkit", toolkit, extras={"nvcc": [f"nvidia-cuda-nvcc=={toolkit}"]}).write(tmp_path / "pypi")
        Wheel("nvidia-cuda-nvcc", toolkit).write(tmp_path / "pypi")
    for name in ("nvidia-cublas", "nvidia-nccl-cu13", "triton"):
        Wheel(name, "13.0").write(tmp_path / "pypi")
    Wheel("torch", "2.10.0", ["nvidia-cudnn-cu12"]).write(tmp_path / "pypi")
    Wheel("torch", "2.13.0", ["cuda-toolkit==13.0.2", *FOR_CUDA]).write(tmp_path / "pypi")
    Wheel("torch", "3.0.0", ["cuda-toolkit==14.0.0", "nvidia-cudnn-cu14"]).write(tmp_path / "pypi")
    cuda = {f"cuda{release}": [f"nvidia-cudnn-cu{release}", "nvidia-cuda-nvcc"] for release in (12, 13)}
    Wheel("jax", "0.10.2", extras=cuda).write(tmp_path / "pypi")
    Wheel("torch", "2.13.0+cpu").write(tmp_path / "cpu")
    return tmp_path


def resolved(arguments, index):
    """What pip would install with these arguments, were the folders PyPI's index and PyTorch's; None where it finds
    nothing that fits.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    with served(index) as address:
        constraints = (ROOT / CONSTRAINTS).read_text()
        assert constraints.count(TORCHS_INDEX) == 1
        source = index / "source"  # a build writes into it
        for name in ("bfc_bench", "plugins", "suites"):
            shutil.copytree(
                ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
            )
        for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, source)
        (source / CONSTRAINTS).write_text(constraints.replace(TORCHS_INDEX, f"{address}/cpu"))
        done = completed(
            [sys.executable, "-m", *arguments, "--dry-run", "--ignore-installed", "--no-build-isolation", "--quiet",
             "--no-cache-dir", "--report", "-", "--index-url", f"{address}/pypi"],
            cwd=source, timeout=300,
            env={**environment, "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        )  # fmt: skip
    if "ResolutionImpossible" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    return taken(done.stdout)


def test_the_readmes_command_takes_torch_for_the_cpu(index):
    [command] = commands("README.md")[:1]
    found = resolved(shlex.split(command), index)
    assert found["torch"] == "2.13.0+cpu"
    assert {"bfc-bench", "jax", "mlflow", "sqlalchemy", "scikit-learn"} <= found.keys()
    assert [name for name in found if CUDA.search(name)] == []


def test_the_core_takes_none_of_the_three(index):
    found = resolved(["pip", "install", "."], index)
    assert "scikit-learn" in found
    assert found.keys() & {"torch", "jax", "jaxlib", "mlflow", "sqlalchemy"} == set()


def test_the_extra_for_gpus_takes_one_cuda_for_torch_and_jax(index):
    """Neither the older torch for CUDA 12 nor the newer one for CUDA 14, and the compiler of the libraries' release."""
    found = resolved(["pip", "install", ".[all,cuda]"], index)
    assert (found["torch"], found["cuda-toolkit"], found["nvidia-cuda-nvcc"]) == ("2.13.0", "13.0.2", "13.0.2")
    assert [name for name in found if re.search(r"cu\d\d$", name) and not name.endswith("cu13")] == []
    for other in ("torch<2.11", "torch>=3"):
        assert resolved(["pip", "install", ".[all,cuda]", other], index) is None


@pytest.fixture
def installer(monkeypatch):
    """.ci/install.py, as a module, without what this machine tells pip and uv."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    spec = importlib.util.spec_from_file_location("install", ROOT / ".ci" / "install.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def uv(tmp_path, monkeypatch):
    """Puts a program named uv in front of the real one. Calling the result gives the last arguments of it, and its
    variables.
    """
    folder, said = tmp_path / "bin", tmp_path / "said"
    folder.mkdir()
    (folder / "uv").write_text(f'#!/bin/sh\n(printf "%s\\n" "$@"; env | sed -n "/^UV_/p") > {said}\n')
    (folder / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return lambda: said.read_text().splitlines()


def test_uv_takes_torch_from_pytorchs_index_where_it_answers(installer, uv, index, capfd):
    with served(index) as address:
        installer.INDEX = f"{address}/cpu"
        assert installer.install(["torch>=2.6", "numpy"]) == 0
    assert {"torch>=2.6", "torch==2.13.0+cpu", "numpy", "UV_TORCH_BACKEND=cpu"} <= {*uv()}
    assert installer.install(["numpy", "torch-geometric"]) == 0
    assert not [line for line in uv() if "cpu" in line]
    assert capfd.readouterr().err == ""


def test_uv_is_told_what_pip_knows(installer, uv, tmp_path, monkeypatch):
    """By a file of pip's, by variables, which count more, and by variables of uv, which count most."""
    own = "[global]\nindex-url = https://mirror/simple\nextra-index-url = https://a https://b\nfind-links = /c\n"
    (tmp_path / "pip.conf").write_text(own)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_FIND_LINKS", "/d /e")
    assert installer.install(["numpy"]) == 0
    told = {"UV_DEFAULT_INDEX=https://mirror/simple", "UV_INDEX=https://a https://b", "UV_FIND_LINKS=/d,/e"}
    assert {*told, "UV_INDEX_STRATEGY=unsafe-best-match"} <= {*uv()}
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://other/simple")
    assert installer.install(["numpy"]) == 0
    assert "UV_DEFAULT_INDEX=https://other/simple" in uv()


def test_without_uv_it_says_what_to_install(installer, monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    assert installer.install(["numpy"]) == 1
    assert "`python -m pip install uv`" in capsys.readouterr().err


@needs_uv
@pytest.mark.parametrize("place", ["folder", "mirror", "nowhere"])
def test_without_pytorchs_index_torch_for_the_cpu_comes_from_elsewhere_or_not_at_all(
    installer, index, place, monkeypatch, capfd
):
    """PyPI's build, for CUDA, is there in all three cases."""
    with served(index) as address:
        monkeypatch.setenv("PIP_INDEX_URL", f"{address}/pypi")
        if place == "folder":
            monkeypatch.setenv("PIP_FIND_LINKS", str(index / "cpu" / "torch"))
        if place == "mirror":
            monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{address}/cpu")
        installer.INDEX = "http://127.0.0.1:9/cpu"
        code = installer.install(["--dry-run", "--target", str(index / "site"), "--no-cache", "torch>=2.6"])
    said = capfd.readouterr().err
    assert "http://127.0.0.1:9/cpu does not answer ([Errno 111] Connection refused)" in said
    assert (code == 0, "PIP_FIND_LINKS" in said, "+ torch==2.13.0+cpu" in said) == (
        (False, True, False) if place == "nowhere" else (True, False, True)
    )
    assert not CUDA.search(said.replace("build for CUDA", ""))


@needs_uv
@pytest.mark.slow
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_todays_releases_fit_together_as_wheels(python):
    """On PyPI as it is: one CUDA for torch and JAX, and a wheel of everything."""
    done = completed(
        ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:", "--extra", "all",
         "--extra", "cuda", "--extra", "data", "--python-version", python,
         "--python-platform", "x86_64-manylinux_2_28", "pyproject.toml"],
        cwd=ROOT, timeout=300,
    )  # fmt: skip
    if "dns error" in done.stderr or "Connection refused" in done.stderr:
        pytest.skip("no index can be reached")
    assert done.returncode == 0, done.stderr
    found = dict(line.split("==") for line in done.stdout.splitlines() if "==" in line)
    assert {"torch", "jax-cuda13-plugin"} <= found.keys()
    assert [name for name in found if re.search(r"-cu\d\d$", name) and not name.endswith("cu13")] == []
    toolkit = found["cuda-toolkit"].split(".")[:2]
    for name in ("nvidia-cuda-runtime", "nvidia-cuda-nvcc", "nvidia-cuda-nvrtc"):
        assert found[name].split(".")[:2] == toolkit, name


def test_the_lock_has_what_tests_and_documentation_ask_for():
    """``tox run -e lock`` writes it anew; torch is left out, whose builds ``constraints-cpu.txt`` chooses."""
    lock = tomllib.loads((ROOT / "pylock.toml").read_text())
    versions: dict[str, list[str]] = {}
    for package in lock["packages"]:
        versions.setdefault(package["name"], []).append(package["version"])
    extras, groups = PROJECT["project"]["optional-dependencies"], PROJECT["dependency-groups"]
    asked = [*PROJECT["project"]["dependencies"], *groups["tests"], *groups["docs"]]
    asked += [need for extra in ("jax", "mlflow") for need in extras[extra]]
    for need in map(Requirement, asked):
        assert any(map(need.specifier.contains, versions.get(need.name.lower(), []))), f"{need}: run `tox run -e lock`"
    assert [name for name in versions if name == "torch" or CUDA.search(name)] == []
