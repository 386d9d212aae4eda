"""Finds the packages, which pyproject.toml cannot: two are installed under other names than their folders have."""

import tomllib
from pathlib import Path

from setuptools import find_packages, setup

folders = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
inside = [f"{name}.{package}" for name, folder in folders.items() for package in find_packages(folder)]
setup(packages=[*folders, *inside])
