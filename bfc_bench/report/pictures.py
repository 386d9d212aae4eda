"""Pictures of figures as files: SVG, PNG, PDF, or the Vega-Lite specification with its data."""

import json
import re
from typing import Any

FORMATS = ("svg", "png", "pdf", "json")
PNG_SCALE = 2.0
"""Dots of PNG files per pixel of the figure."""


def picture(spec: dict[str, Any], suffix: str) -> bytes:
    """A figure as the content of a file. Equal figures give equal files, except for the order of objects in a PDF."""
    if suffix == "json":
        return json.dumps(spec, ensure_ascii=False).encode()
    import vl_convert

    if suffix == "svg":
        return _compact(vl_convert.vegalite_to_svg(spec)).encode()
    if suffix == "png":
        return bytes(vl_convert.vegalite_to_png(spec, scale=PNG_SCALE))
    return bytes(vl_convert.svg_to_pdf(_for_pdf(vl_convert.vegalite_to_svg(spec))))


def _for_pdf(svg: str) -> str:
    """An SVG to make a PDF of.

    Its size is in points, three fourths of its pixels: vl-convert takes the units of a PDF for pixels. Filled paths
    without an outline have the opacity of their filling, which looks the same; for the opacity of a path, the PDF would
    have an object per path and be six times as large.
    """
    svg = re.sub(r'(<path (?:(?! stroke=)[^>])*?) opacity="([\d.]+)"(?=/>)', r'\1 fill-opacity="\2"', svg)
    return re.sub(r'(?<= )(width|height)="([\d.]+)"', lambda size: f'{size[1]}="{0.75 * float(size[2])}"', svg, count=2)


def _compact(svg: str) -> str:
    """A smaller SVG that is equal for equal figures.

    Its clip paths are counted from 1; vl-convert counts them over all figures of a process. Its places have two digits.
    """
    numbers: dict[str, int] = {}
    pattern = r'(id="clip|url\(#clip)(\d+)'
    svg = re.sub(pattern, lambda found: f"{found[1]}{numbers.setdefault(found[2], len(numbers) + 1)}", svg)
    return re.sub(r' (?:d|transform)="[^"]*"', lambda place: re.sub(r"(\.\d\d)\d+", r"\1", place[0]), svg)
