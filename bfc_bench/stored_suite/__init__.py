"""The results of a suite in a store: the one object behind verbs, report, MLflow and Python.

Store, suite, version and plugins are resolved once, by ``open_store``; everything that is said of results starts here.
"""

from bfc_bench.stored_suite.opening import OpenStore, open_store
from bfc_bench.stored_suite.results import Curves
from bfc_bench.stored_suite.suite import StoredSuite

__all__ = ["Curves", "OpenStore", "StoredSuite", "open_store"]
