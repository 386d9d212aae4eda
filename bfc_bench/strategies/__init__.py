"""Strategies, which say what cells of a suite run next, and the functions that run a suite by one."""
