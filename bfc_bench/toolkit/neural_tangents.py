"""Access to neural-tangents, whose last release (0.6.5) cannot be imported with current versions of JAX.

Install it with ``pip install --no-deps neural-tangents==0.6.5 frozendict``; its declared dependencies are not needed.
Names that JAX has removed are restored before the import. ``nt.stax`` kernels work.
"""

import importlib
import sys
from functools import cache
from types import ModuleType
from typing import Any

from bfc_bench.errors import UsageError
from bfc_bench.toolkit.libraries import missing


@cache
def neural_tangents() -> Any:
    """The module ``neural_tangents``. Raises ``UsageError`` if it is not installed, or in another version."""
    if reason := missing({"jax", "neural-tangents"}):
        raise UsageError(f"neural-tangents cannot be used: {reason}")
    _restore_names()
    return importlib.import_module("neural_tangents")


def _restore_names() -> None:
    """Restore the names that neural-tangents reads at import and that newer versions of JAX have moved or removed."""
    import jax
    import jax.extend.core
    import jax.interpreters.ad

    # Its experimental part needs TensorFlow.
    sys.modules.setdefault("neural_tangents.experimental", ModuleType("neural_tangents.experimental"))
    for name in ("Jaxpr", "JaxprEqn", "Literal", "Var", "Primitive", "ClosedJaxpr"):
        _set_if_missing(jax.core, name, getattr(jax.extend.core, name))
    _set_if_missing(jax.core, "DShapedArray", type("DShapedArray", (), {}))
    _set_if_missing(jax.interpreters.ad, "zeros_like_p", jax.extend.core.Primitive("zeros_like"))
    try:
        importlib.import_module("jax.util")
    except ImportError:
        util = ModuleType("jax.util")
        _set_if_missing(util, "safe_map", lambda f, *xs: [f(*row) for row in zip(*xs, strict=True)])
        _set_if_missing(util, "safe_zip", lambda *xs: list(zip(*xs, strict=True)))
        sys.modules["jax.util"] = util
        _set_if_missing(jax, "util", util)


def _set_if_missing(module: ModuleType, name: str, value: Any) -> None:
    if not hasattr(module, name):
        setattr(module, name, value)
