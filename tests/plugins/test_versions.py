"""A learner whose defaults change needs a new version: equal identities must go on to mean equal results.

``python tests/plugins/test_versions.py`` writes ``versions.json`` anew; it refuses where defaults changed and the
version did not.
"""

import json
from pathlib import Path

from bfc_bench.config import plain_option
from bfc_bench.plugins.manager import load_plugins

FILE = Path(__file__).with_name("versions.json")


def present():
    """Version, defaults and default search of every built-in learner."""
    plugins = load_plugins()
    found = {}
    for name in plugins.learners:
        if plugins.learners.origin(name) == "bfc-bench:builtin":
            cls = plugins.learners.get(name)
            options = {
                key: "required" if field.is_required() else plain_option(field.get_default(call_default_factory=True))
                for key, field in sorted(cls.model_fields.items())
            }
            found[name] = {"version": cls.version, "defaults": options, "search": plain_option(dict(cls.search))}
    return found


def changed_without_a_version(old, new):
    """Options of which an existing default, or the default search, is another one under the same version."""
    wrong = []
    for name in old.keys() & new.keys():
        a, b = old[name], new[name]
        if a["version"] == b["version"]:
            both = sorted(a["defaults"].keys() & b["defaults"].keys())
            wrong += [f"{name}: {key}" for key in both if a["defaults"][key] != b["defaults"][key]]
            wrong += [f"{name}: search"] * (a["search"] != b["search"])
    return wrong


def test_no_default_changes_without_a_new_version():
    held = json.loads(FILE.read_text())
    assert changed_without_a_version(held, present()) == []
    assert held == present(), f"versions, defaults or learners are new: python {Path(__file__).name} writes them down"


def test_the_guard_sees_a_changed_default_and_allows_a_new_option_or_one_less():
    one = {"l": {"version": 1, "defaults": {"width": 8}, "search": {}}}
    more = {"l": {"version": 1, "defaults": {"width": 8, "depth": 2}, "search": {}}}
    other = {"l": {"version": 1, "defaults": {"width": 9}, "search": {}}}
    assert changed_without_a_version(one, more) == changed_without_a_version(more, one) == []
    assert changed_without_a_version(one, other) == ["l: width"]
    assert changed_without_a_version(one, {"l": {**other["l"], "version": 2}}) == []


if __name__ == "__main__":
    if FILE.exists() and (wrong := changed_without_a_version(json.loads(FILE.read_text()), present())):
        raise SystemExit(f"raise the version of the learner first: {', '.join(wrong)}")
    lines = (f"{json.dumps(name)}: {json.dumps(facts, sort_keys=True)}" for name, facts in sorted(present().items()))
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
