"""Says which of the optional libraries are installed, and how to install the others."""

from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version

EXTRAS = ("torch", "jax", "mlflow")
"""Libraries that an extra of bfc-bench with the same name installs."""
NEURAL_TANGENTS = "0.6.5"
"""The release of neural-tangents that works here; its declared dependencies are not needed."""


def missing(libraries: Iterable[str]) -> str | None:
    """Why something that imports these distributions cannot be used here, with what to type; None if it can.

    Imports nothing.
    """
    problems = [problem for library in sorted(libraries) if (problem := _problem(library))]
    return "; ".join(problems) or None


def release(distribution: str) -> str | None:
    """The installed release of a distribution, or None."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


@cache
def _problem(library: str) -> str:
    installed = release(library)
    if installed is None:
        return f"it needs {library}, which is not installed: {install_command(library)}"
    if library == "neural-tangents" and installed != NEURAL_TANGENTS:
        return f"it needs neural-tangents {NEURAL_TANGENTS}; {installed} is installed: {install_command(library)}"
    return ""


def install_command(library: str) -> str:
    """What to type to install a library: if possible an extra of bfc-bench, which knows the right versions."""
    if library == "neural-tangents":
        return f"pip install --no-deps neural-tangents=={NEURAL_TANGENTS} frozendict"
    return f"pip install 'bfc-bench[{library}]'" if library in EXTRAS else f"pip install {library}"
