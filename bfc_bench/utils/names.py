"""Names of suites, tasks, labels and claims, which also become names of files and folders."""

import re

LONGEST_NAME = 80
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+-]*")
NAME_RULE = f"must begin with a letter or a digit and hold these and . _ : @ + - only, at most {LONGEST_NAME} in all"


def is_name(value: object) -> bool:
    """Whether a value may be the name of a suite, a task, a learner or a claim."""
    return isinstance(value, str) and len(value) <= LONGEST_NAME and _NAME.fullmatch(value) is not None
