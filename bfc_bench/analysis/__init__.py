"""From rows to statements: curves, thresholds, exponents, comparisons, feature errors, with their intervals.

SciPy is imported where it is called: kinds of claims are registered whenever plugins are loaded, which must be fast.
"""
