"""The JavaScript that draws the figures of a page: Vega, Vega-Lite and their embedding, from vl-convert's own copy."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from importlib.resources import files

from bfc_bench.errors import OutputError
from bfc_bench.utils.files import cache_folder, inside, make_folder, write_file

ENTRY = "window.vegaEmbed = vegaEmbed;"
"""What the bundle offers to the script of the page."""


@cache
def library() -> str:
    """The bundle, 0.9 MB. It is kept in the user's cache folder, because making it takes a second."""
    try:
        folder = cache_folder() / "vega"
        file = inside(folder, f"vl-convert-{version('vl-convert-python')}.js")
        if file.exists() and (text := file.read_text(encoding="utf-8")).endswith(MARK):
            return text
    except (OutputError, OSError):
        return _made()
    text = _made()
    try:
        make_folder(folder, private=True)
        write_file(file, text.encode(), private=True)
    except OutputError:
        pass  # the next report makes it again
    return text


MARK = "//end"
"""The last characters of the bundle: a file without them is not complete."""


def _made() -> str:
    import vl_convert

    text = vl_convert.javascript_bundle(ENTRY)
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--") + MARK


@cache
def page_script() -> str:
    """The script of our pages: it draws figures, sorts and filters tables, and dims labels."""
    return files("bfc_bench.report").joinpath("page.js").read_text(encoding="utf-8")
