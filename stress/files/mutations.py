"""Damages bytes: flips bits, overwrites, truncates, and moves blocks, according to a seed."""

from collections.abc import Callable
from random import Random

__all__ = ["first_change", "mutated"]

_MOST_RUN = 200


def mutated(data: bytes, draws: Random) -> bytes:
    """Returns a damaged copy of `data`, which must have at least two different bytes."""
    while True:
        damage = draws.choices(_KINDS, _WEIGHTS)[0]
        array = bytes(damage(bytearray(data), draws))
        if array != data:
            return array


def first_change(data: bytes, other: bytes) -> int:
    """Returns the offset of the first difference, or of the end of the shorter one."""
    pairs = enumerate(zip(data, other, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(data), len(other)))


def _flip(data: bytearray, draws: Random) -> bytearray:
    data[draws.randrange(len(data))] ^= 1 << draws.randrange(8)
    return data


def _flips(data: bytearray, draws: Random) -> bytearray:
    for _ in range(draws.randint(2, 20)):
        _flip(data, draws)
    return data


def _overwrite(data: bytearray, draws: Random) -> bytearray:
    start, end = _block(data, draws)
    data[start:end] = draws.randbytes(end - start)
    return data


def _fill(data: bytearray, draws: Random) -> bytearray:
    start, end = _block(data, draws)
    data[start:end] = bytes([draws.choice([0, 0xFF, 0x80, 0x7F])]) * (end - start)
    return data


def _cut(data: bytearray, draws: Random) -> bytearray:
    return data[: draws.randrange(len(data))]


def _drop(data: bytearray, draws: Random) -> bytearray:
    start, end = _block(data, draws)
    return data[:start] + data[end:]


def _insert(data: bytearray, draws: Random) -> bytearray:
    at = draws.randint(0, len(data))
    return data[:at] + draws.randbytes(draws.randint(1, _MOST_RUN)) + data[at:]


def _append(data: bytearray, draws: Random) -> bytearray:
    return data + draws.randbytes(draws.randint(1, _MOST_RUN))


def _swap(data: bytearray, draws: Random) -> bytearray:
    first, second = sorted(draws.randrange(len(data)) for _ in range(2))
    size = draws.randint(1, max(1, min(second - first, len(data) - second)))
    one, two = data[first : first + size], data[second : second + size]
    data[first : first + size], data[second : second + size] = two, one
    return data


def _repeat(data: bytearray, draws: Random) -> bytearray:
    start, end = _block(data, draws)
    return data[:end] + data[start:end] + data[end:]


def _block(data: bytearray, draws: Random) -> tuple[int, int]:
    start = draws.randrange(len(data))
    return start, min(len(data), start + draws.randint(1, _MOST_RUN))


_KINDS: list[Callable[[bytearray, Random], bytearray]] = [
    *(_flip, _flips, _overwrite, _fill, _cut, _drop, _insert, _append, _swap, _repeat),
]
_WEIGHTS = [4, 1, 1, 1, 2, 1, 1, 1, 1, 1]
