"""Builds HTML. Plain strings are escaped, so data cannot become markup or a script."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from headrace.core.repr_prefix import printable_lines

__all__ = ["Html", "bar", "figures", "fragment", "num_bytes", "page", "table", "tag"]

# Uses the colours of the page or notebook, with a translucent grey for lines.
_STYLE: Final = (
    ".headrace{font:13px/1.45 system-ui,sans-serif;color:inherit;max-width:100%;overflow-x:auto}"
    ".headrace table{border-collapse:collapse;border:0;margin:.4em 0;font-size:inherit}"
    ".headrace :is(th,td){padding:.25em 1.2em .25em 0;text-align:left;vertical-align:top;"
    "border:0;border-bottom:1px solid #8885;background:none;white-space:normal}"
    ".headrace :is(table,thead,tbody,tr){border-color:#8885;background:none;color:inherit}"
    ".headrace th{font-weight:600}"
    ".headrace code,.headrace pre{font:12px/1.5 ui-monospace,monospace;color:inherit;"
    "background:none;padding:0;margin:0}"
    ".headrace pre{white-space:pre-wrap;overflow-wrap:anywhere;max-width:60em}"
    ".headrace small{opacity:.75;font-size:12px}"
    ".headrace .example{display:flex;flex-wrap:wrap;gap:.8em 1.6em;align-items:flex-start;"
    "border-top:1px solid #8885;padding:.7em 0}"
    ".headrace .example>b{flex-basis:100%;font-weight:600}"
    ".headrace .rows{display:flex;flex-wrap:wrap;gap:0 2.4em}"
    ".headrace figure{margin:0;min-width:0;max-width:100%}"
    ".headrace figcaption{margin-bottom:.25em;overflow-wrap:anywhere}"
    ".headrace :is(img,svg){display:block;max-width:100%;height:auto}"
    ".headrace .picture{position:relative;display:inline-block;margin:0 .5em .5em 0;"
    "vertical-align:top;line-height:0;max-width:100%}"
    ".headrace .picture>img{image-rendering:auto}"
    ".headrace .pixels>img{image-rendering:pixelated}"
    ".headrace .picture>:is(svg,img)+:is(svg,img){position:absolute;inset:0;width:100%;"
    "height:100%}"
    ".headrace audio{display:block;max-width:100%}"
    ".headrace .bar{display:inline-block;width:8em;height:.7em;background:#8883;"
    "border-radius:2px;margin-right:.6em;vertical-align:middle}"
    ".headrace .bar>i{display:block;height:100%;background:#3b82c4;border-radius:2px}"
    # The repeated class wins over the notebooks' own rules for tables and code.
).replace(".headrace", ".headrace" * 4)
# Pages load no external resources.
_POLICY: Final = (
    "default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'"
)
_PAGE_STYLE: Final = (
    ":root{color-scheme:light dark}"
    "body{margin:1.2em}"
    "h1{font:600 18px/1.4 system-ui,sans-serif;overflow-wrap:anywhere}"
)
# Elements without an end tag.
_EMPTY: Final = ("img", "meta")
_UNITS: Final = ("KiB", "MiB", "GiB", "TiB")


class Html(str):
    """Text that is already HTML. All other text is escaped."""

    __slots__ = ()


def _markup(content: str) -> str:
    # Control and bidirectional characters become visible, as in messages.
    return content if isinstance(content, Html) else escape(printable_lines(content))


def tag(name: str, /, *content: str, **attributes: object) -> Html:
    """Returns an element. Contents and attributes are escaped, except contents of type `Html`.

    Args:
        name: The element's name, such as "td".
        content: The content, in order.
        attributes: The attributes. A trailing underscore is removed, and others become hyphens.
            Attributes that are None are left out.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(printable_lines(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(map(_markup, content))
    return Html(f"<{name}{written}>" if name in _EMPTY else f"<{name}{written}>{inner}</{name}>")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Returns a table."""
    head = tag("tr", *(tag("th", cell) for cell in header))
    body = (tag("tr", *(tag("td", cell) for cell in row)) for row in rows)
    return tag("table", tag("thead", head), tag("tbody", *body))


def bar(share: float, text: str | None = None) -> Html:
    """Returns a bar that is filled to a share from 0 to 1, with a label or the percentage."""
    percentage = f"{min(max(share, 0.0), 1.0):.0%}"
    filled = tag("i", style=f"width:{percentage}")
    return Html(tag("span", filled, class_="bar") + tag("span", text or percentage))


def figures(counts: Sequence[int], title: str) -> Html:
    """Returns a small histogram. `title` describes it for people who cannot see it."""
    most = max(counts, default=0) or 1
    bars = (
        tag("rect", x=6 * number, y=40 - height, width=5, height=height, fill="#3b82c4")
        for number, count in enumerate(counts)
        if (height := max(round(40 * count / most), 1 if count else 0))
    )
    width = 6 * len(counts)
    label = tag("title", title)
    return tag("svg", label, *bars, viewBox=f"0 0 {width} 40", width=width, height=40, role="img")


def fragment(*content: str) -> Html:
    """Returns HTML for a notebook, with its style."""
    # The last two classes keep notebooks from reading dollar signs in data as formulas.
    classes = "headrace tex2jax_ignore mathjax_ignore"
    return tag("div", tag("style", Html(_STYLE)), *content, class_=classes)


def page(title: str, *content: str) -> str:
    """Returns a complete HTML page that loads nothing else."""
    head = Html(
        tag("meta", charset="utf-8")
        + tag("meta", http_equiv="Content-Security-Policy", content=_POLICY)
        + tag("meta", name="viewport", content="width=device-width, initial-scale=1")
        + tag("title", title)
        + tag("style", Html(_PAGE_STYLE))
    )
    body = tag("h1", title) + fragment(*content)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def num_bytes(number: float) -> str:
    """Returns text such as "512 bytes" or "1.5 MiB"."""
    if number < 1024:
        return f"{number:.0f} {'byte' if number == 1 else 'bytes'}"
    unit = -1
    while number >= 1024 and unit < len(_UNITS) - 1:
        number, unit = number / 1024, unit + 1
    return f"{number:.1f} {_UNITS[unit]}"
