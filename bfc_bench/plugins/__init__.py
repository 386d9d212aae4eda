"""Plugins: what they register, how they are found, and how a fault of one is kept from the others."""

from bfc_bench.plugins.manager import Plugins, draw_figure, load_plugins

__all__ = ["Plugins", "draw_figure", "load_plugins"]
