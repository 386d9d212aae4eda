"""The decorators that mark hook specifications and hook implementations."""

import pluggy

PROJECT = "bfc_bench"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
