"""A package index on this machine, of wheels that hold their metadata alone, to see what pip would install."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Wheel:
    """A wheel for any Python and system, as an index has it."""

    name: str
    version: str
    needs: Sequence[str] = ()
    extras: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def write(self, index):
        """Into the folder of its project, with the page that lists it (PEP 503)."""
        stem = f"{self.name.replace('-', '_')}-{self.version}"
        folder = index / self.name
        folder.mkdir(parents=True, exist_ok=True)
        lines = ["Metadata-Version: 2.1", f"Name: {self.name}", f"Version: {self.version}"]
        lines += [f"Requires-Dist: {need}" for need in self.needs]
        for extra, needs in self.extras.items():
            lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {need}; extra == "{extra}"' for need in needs)]
        file = folder / f"{stem}-py3-none-any.whl"
        with zipfile.ZipFile(file, "w") as wheel:
            wheel.writestr(f"{stem}.dist-info/METADATA", "\n".join(lines) + "\n")
            wheel.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{stem}.dist-info/RECORD", "")
        files = sorted(folder.glob("*.whl"))
        links = "".join(f'<a href="{each.name.replace("+", "%2B")}">{each.name}</a>\n' for each in files)
        (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>\n{links}</body></html>\n")


def taken(report):
    """Names and versions in what ``pip install --report -`` prints."""
    return {item["metadata"]["name"]: item["metadata"]["version"] for item in json.loads(report)["install"]}
