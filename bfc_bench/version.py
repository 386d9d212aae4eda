"""The installed release of bfc-bench."""

from importlib.metadata import version

__version__ = version("bfc-bench")
