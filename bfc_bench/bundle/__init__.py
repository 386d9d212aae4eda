"""Bundles: one zip file with the results of suites, which others can check, cite and merge."""
