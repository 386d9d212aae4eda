"""Statistics of stored rows: learning curves, thresholds, exponents, comparisons and claims, with their intervals.

Functions import SciPy where they call it: loading plugins imports the kinds of claims, and this must be fast.
"""
