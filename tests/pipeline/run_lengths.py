"""Compresses run lengths as in COCO files."""

from collections.abc import Sequence


def compressed(counts: Sequence[int]) -> str:
    """Returns run lengths as a string.

    Source: the format of `counts` in pycocotools: differences from the run before the last one, in
    characters of five bits.
    """
    text = ""
    for number, count in enumerate(counts):
        rest = count - (counts[number - 2] if number > 2 else 0)
        is_more = True
        while is_more:
            code, rest = rest & 31, rest >> 5
            is_more = rest != (-1 if code & 16 else 0)
            text += chr(48 + (code | (32 if is_more else 0)))
    return text
