"""Command lines as others may see them."""

import shlex
from pathlib import PurePosixPath


def without_folders(command: str) -> str:
    """A command line in which each path has its last name only, and each address its scheme."""
    try:
        parts = shlex.split(command)
    except ValueError:
        parts = command.split()
    return shlex.join(map(_without_folder, parts))


def _without_folder(argument: str) -> str:
    """A path, or the value of an option that is one, by its last name; an address by its scheme."""
    option, equals, value = argument.rpartition("=")
    if "://" in value:
        return f"{option}{equals}{value.partition('://')[0]}:"
    return f"{option}{equals}{PurePosixPath(value).name}" if "/" in value else argument
