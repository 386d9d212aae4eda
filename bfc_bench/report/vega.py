"""The JavaScript that draws the figures of a page: Vega, Vega-Lite and their embedding, from vl-convert's own copy."""

from contextlib import suppress
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
    text = ""
    with suppress(OutputError, OSError):  # without a cache, each process makes it
        file = inside(cache_folder() / "vega", f"vl-convert-{version('vl-convert-python')}.js")
        if file.exists():
            return file.read_text(encoding="utf-8")
        text = _made()
        make_folder(file.parent, private=True)
        write_file(file, text.encode(), private=True)
    return text or _made()


def _made() -> str:
    import vl_convert

    return vl_convert.javascript_bundle(ENTRY).replace("</script", "<\\/script").replace("<!--", "<\\!--")


@cache
def page_script() -> str:
    """The script of our pages: it draws figures, sorts and filters tables, and dims labels."""
    return files("bfc_bench.report").joinpath("page.js").read_text(encoding="utf-8")
