"""Builds the documentation: `tox run -e docs`. Nothing is fetched, and warnings are errors."""

import re
import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import runs
from fill import fill
from sphinx.errors import PycodeError
from sphinx.ext.napoleon import Config, GoogleDocstring
from sphinx.pycode import ModuleAnalyzer

# Autodoc adds the annotations that it finds in the source to every base class. Those of pydantic's BaseModel would then
# count as fields of classes that are made later.
ModuleAnalyzer.cache["module", "pydantic.main"] = PycodeError("is not read")

project = "bfc-bench"
author = "The bfc-bench developers"
copyright = f"2026, {author}"
release = version = installed("bfc-bench")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

myst_heading_anchors = 4
myst_links_external_new_tab = False

html_theme = "furo"
html_title = "bfc-bench"
html_baseurl = ""
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00609a", "color-brand-content": "#00609a"},
    "dark_css_variables": {"color-brand-primary": "#56b4e9", "color-brand-content": "#56b4e9"},
}

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
maximum_signature_line_length = 88

nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!bfc_bench\.[A-Z]).*")]  # what is not public has no page


def _literally(app, what, name, obj, options, lines):
    """Docstrings here are plain text but for ``code`` and sections of arguments: stars, bars and trailing underscores
    mean themselves.
    """
    plain = [
        "".join(
            part if part.startswith("``") or index % 2 else re.sub(r"([*|])|(?<=\w)_(?=\W|$)", r"\\\g<0>", part)
            for index, part in enumerate(re.split(r"(``.+?``|:\w+:`.+?`)", line))
        )
        for line in lines
    ]
    lines[:] = str(GoogleDocstring(plain, Config(), app, what, name, obj, options)).splitlines()


def _with_runs(app, error):
    """Reports of the published runs lie beside the pages; those of an earlier build stay."""
    if app.builder.name == "html" and error is None:
        runs.site(Path(app.outdir) / "runs")


def setup(app):
    """Pages are filled from the classes, the suites and the notebook when they are read."""
    app.connect("build-finished", _with_runs)
    app.connect("autodoc-process-docstring", _literally)
    app.connect("source-read", lambda app, page, source: source.__setitem__(0, fill(source[0], Path(app.srcdir), page)))
    return {"parallel_read_safe": True}
