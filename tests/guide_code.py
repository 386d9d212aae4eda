"""The code of the guide for authors of plugins, as one module that registers what each part of the guide registers."""

import re
from itertools import count
from pathlib import Path

TEXT = (Path(__file__).parents[1] / "docs" / "plugins.md").read_text()
HOOK = re.compile(r"@hookimpl\ndef bfc_register\(")


def guide_code():
    """The code blocks of the guide. A module has one hook ``bfc_register``, which calls those of the blocks."""
    blocks = "\n\n".join(re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL))
    numbers = count()
    code = HOOK.sub(lambda found: f"def register_{next(numbers)}(", blocks)
    calls = "\n".join(f"    register_{number}(register)" for number in range(next(numbers)))
    return f"{code}\n\n@hookimpl\ndef bfc_register(register):\n{calls}\n"
