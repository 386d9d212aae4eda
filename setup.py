"""Finds the packages, two of which have other names than their folders.

An editable installation gets a folder of links with the names of the packages, since type checkers and editors look for
packages in folders and do not run import hooks.
"""

import os
import sys
from pathlib import Path

from setuptools import find_packages, setup

FOLDERS = {"bfc_bench": "bfc_bench", "bfc_plugins": "plugins", "bfc_suites": "suites"}
LINKS = Path(".editable")

package_dir = FOLDERS
if "editable_wheel" in sys.argv:
    LINKS.mkdir(exist_ok=True)
    for package, folder in FOLDERS.items():
        if not (LINKS / package).is_symlink():
            (LINKS / package).symlink_to(os.path.join("..", folder))
    package_dir = {"": str(LINKS)}
inside = [f"{name}.{package}" for name, folder in FOLDERS.items() for package in find_packages(folder)]
setup(packages=[*FOLDERS, *inside], package_dir=package_dir)
