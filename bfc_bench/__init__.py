"""Sample-complexity benchmarks for hierarchical learning."""

import lazy_loader

# The stub __init__.pyi states each public name and its module; a name is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
