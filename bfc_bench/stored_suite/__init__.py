"""The results of a suite in a store, as one object that the verbs, the report, MLflow and Python users share.

``open_store`` resolves store, suite, version and plugins once.
"""

from bfc_bench.stored_suite.curves import Curves
from bfc_bench.stored_suite.opening import OpenStore, open_store, reference_results
from bfc_bench.stored_suite.suite import StoredSuite

__all__ = ["Curves", "OpenStore", "StoredSuite", "open_store", "reference_results"]
