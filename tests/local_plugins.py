"""Plugins that a test makes: objects with hooks, not installed ones."""

from types import SimpleNamespace

from bfc_bench import hookimpl


def plugin(**hooks):
    """A plugin object with these hooks; a hook given as a tuple has options for ``hookimpl``."""
    made = SimpleNamespace(__name__="faulty")
    for name, hook in hooks.items():
        function, options = hook if isinstance(hook, tuple) else (hook, {})
        setattr(made, name, hookimpl(**options)(function))
    return made


def registers(kind, *what):
    return plugin(bfc_register=lambda register: getattr(register, kind)(*what))
