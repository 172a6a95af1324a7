"""Parts of the pictures of docs/, which are SVG.

All have light panels, so they are legible on any background.
"""

from html import escape

PANEL, BOX, QUEUE, LOOP, INK = "#f4f6f8", "#dce7f3", "#fbe3cf", "#dff0dc", "#1f2933"
FONT = "font-family='system-ui, sans-serif'"


def picture(width: int, height: int, title: str, parts: list[str]) -> str:
    """Returns a picture of parts on a panel."""
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}'",
            f"viewBox='0 0 {width} {height}'",
            "role='img'>",
            f"<title>{escape(title)}</title>",
            "<defs><marker id='tip' viewBox='0 0 8 8' refX='7' refY='4'",
            "markerWidth='7' markerHeight='7'",
            f"orient='auto'><path d='M0 0L8 4L0 8z' fill='{INK}'/></marker></defs>",
            f"<rect width='{width}' height='{height}' rx='10' fill='{PANEL}'/>",
            *parts,
            "</svg>",
            "",
        ]
    )


def box(x: int, y: int, width: int, height: int, lines: list[str], fill: str = BOX) -> str:
    """Returns a box, its first line in bold."""
    shape = f"<rect x='{x}' y='{y}' width='{width}' height='{height}' rx='6' fill='{fill}'"
    top = y + height / 2 - 9 * (len(lines) - 1) + 5
    texts = [
        label(x + width // 2, top + 18 * number, line, is_bold=number == 0)
        for number, line in enumerate(lines)
    ]
    return "\n".join([f"{shape} stroke='{INK}' stroke-width='1.2'/>", *texts])


def label(x: float, y: float, text: str, is_bold: bool = False) -> str:
    """Returns a line of text, its middle at x."""
    weight = " font-weight='600'" if is_bold else ""
    size = 14 if is_bold else 13
    return (
        f"<text x='{x:g}' y='{y:g}' {FONT} font-size='{size}'{weight} fill='{INK}' "
        f"text-anchor='middle'>{escape(text)}</text>"
    )


def arrow(path: str, is_dashed: bool = False) -> str:
    """Returns an arrow along a path."""
    dashes = " stroke-dasharray='5 4'" if is_dashed else ""
    return (
        f"<path d='{path}' fill='none' stroke='{INK}' stroke-width='1.5'{dashes} "
        "marker-end='url(#tip)'/>"
    )


def heading(y: float, text: str) -> str:
    """Returns the heading of a part of a picture."""
    return label(20, y, text, is_bold=True).replace("'middle'", "'start'")


def beside(x: float, y: float, text: str) -> str:
    """Returns a line of text that starts at x."""
    return label(x, y, text).replace("'middle'", "'start'")
