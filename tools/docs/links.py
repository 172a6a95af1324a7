"""Links and headings of Markdown pages, outside code."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

__all__ = ["anchors_of", "broken_links", "is_relative", "replace_targets"]

_BLOCK = re.compile(r"^ *```.*?^ *```[ ]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(rf"({_BLOCK.pattern}|`[^`\n]*`)", _BLOCK.flags)
_LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
_HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)


def is_relative(target: str) -> bool:
    """Returns whether a link points to a file of the repository or within the page."""
    return not re.match(r"[a-z]+:", target)


def targets_of(text: str) -> list[str]:
    """Returns the targets of a page's links and pictures."""
    return _LINK.findall(_CODE.sub("", text))


def replace_targets(text: str, replace: Callable[[str], str]) -> str:
    """Returns a page with each relative link replaced by the result of `replace`."""
    pieces = _CODE.split(text)
    for number in range(0, len(pieces), 2):  # Items at odd indices are code.
        pieces[number] = _LINK.sub(
            lambda match: replace(match[1]) if is_relative(match[1]) else match[1], pieces[number]
        )
    return "".join(pieces)


def anchors_of(text: str) -> set[str]:
    """Returns the anchors of a page's headings, as code hosts generate them."""
    results: set[str] = set()
    times: Counter[str] = Counter()
    for heading in _HEADING.findall(_BLOCK.sub("", text)):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown).strip().lower().replace(" ", "-")
        results.add(f"{slug}-{times[slug]}" if times[slug] else slug)
        times[slug] += 1
    return results


def broken_links(page: Path) -> list[str]:
    """Returns a page's relative links whose file or heading does not exist."""
    return [target for target in targets_of(page.read_text("utf-8")) if _is_broken(page, target)]


def _is_broken(page: Path, target: str) -> bool:
    if not is_relative(target):
        return False
    name, _, anchor = target.partition("#")
    path = page.parent / name if name else page
    if not path.exists():
        return True
    return bool(anchor) and anchor not in anchors_of(path.read_text("utf-8"))
