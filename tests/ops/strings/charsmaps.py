"""Character maps as compiled by SentencePiece: a trie (Darts) and the texts that it points to."""

import struct
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["charsmap", "rules"]

_HAS_LEAF = 1 << 8
_IS_LEAF = 1 << 31


def rules(folds_case: bool) -> dict[str, str]:
    """Returns rules like those of `nmt_nfkc`, or of `nmt_nfkc_cf`, which folds case.

    They map characters to compatible forms, compose letters with marks, unify spaces, and remove
    control characters.
    """
    points = (*range(1, 0x3400), *range(0xF900, 0xFFF0), *range(0x1D400, 0x1D430))
    results = {}
    for text in (*map(chr, points), *_with_marks()):
        results[text] = _normal(text, folds_case)
    return {text: normal for text, normal in results.items() if normal != text}


def charsmap(rules: Mapping[str, str]) -> bytes:
    """Compiles replacement rules for `normalizers.Precompiled`."""
    texts = bytearray()
    trie: dict[int, Any] = {}
    for text, normal in rules.items():
        node = trie
        for byte in text.encode():
            node = node.setdefault(byte, {})
        # No text has a null byte, so 0 marks the end of a key.
        node[0] = len(texts)
        texts += normal.encode() + b"\0"
    units = _units(trie)
    return struct.pack(f"<{len(units) + 1}I", 4 * len(units), *units) + texts


def _with_marks() -> Iterator[str]:
    for letter in "AEIOUaeiouÜü":
        for mark in "\u0300\u0301\u0302\u0303\u0308\u0323":
            if len(unicodedata.normalize("NFC", letter + mark)) == 1:
                yield letter + mark


def _normal(text: str, folds_case: bool) -> str:
    if text in "\n\r\t\u200b\ufeff\u2028\u2029\u3000":
        return " "
    if unicodedata.category(text[0]) == "Cc":
        return ""
    normal = unicodedata.normalize("NFKC", text)
    return unicodedata.normalize("NFKC", normal.casefold()) if folds_case else normal


def _units(trie: dict[int, Any]) -> list[int]:
    """Returns the double array of a trie, whose nodes are dictionaries of bytes.

    A unit has the byte that leads to it, a flag for a value, and the way to its children: one
    exclusive or with its own place, and another with the byte of each. The child of byte 0 is the
    value.
    """
    units, base, waiting = {0: 0}, 0, [(0, trie)]
    while waiting:
        place, node = waiting.pop()
        # Nodes with the same base would take each other's children for theirs.
        base += 1
        while any((base ^ byte) in units for byte in node):
            base += 1
        units[place] |= (place ^ base) << 10 | (_HAS_LEAF if 0 in node else 0)
        for byte, child in node.items():
            if isinstance(child, dict):
                units[base ^ byte] = byte
                waiting.append((base ^ byte, child))
            else:
                units[base ^ byte] = _IS_LEAF | child
    # A byte without a child leads to any unit of the same block.
    return [units.get(place, 0) for place in range((max(units) | 0xFF) + 1)]
