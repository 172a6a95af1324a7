"""The hashes by which `split(by=...)` chooses parts: SipHash-2-4 for texts, and one for integers.

Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012.
"""

__all__ = ["hash_of"]

_FACTORS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)

_MASK = 2**64 - 1
_BEGIN = b"somepseudorandomlygeneratedbytes"


def hash_of(value: int | str, seed: int) -> int:
    """Returns the hash of a value, below 2^62."""
    if isinstance(value, str):
        return _sip_hash(value.encode(), seed) % 2**62
    number = _signed(value * _FACTORS[0] + seed * _FACTORS[1] + _FACTORS[2])
    for _ in range(4):
        number = _signed(number * (2 * number + 1) + _FACTORS[1])
        number = _signed((number >> 32) + (number << 32))
    return (_signed(number * _FACTORS[2]) >> 2) + 2**61


def _signed(number: int) -> int:
    return ((number & _MASK) ^ 1 << 63) - (1 << 63)


def _sip_hash(text: bytes, seed: int) -> int:
    """Returns the hash of a text. The second half of the key is 0."""
    words = [int.from_bytes(_BEGIN[at : at + 8], "big") for at in range(0, 32, 8)]
    state = [words[0] ^ seed, words[1], words[2] ^ seed, words[3]]
    padded = text + bytes(7 - len(text) % 8) + bytes([len(text) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        state[3] ^= word
        _mix(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _mix(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _mix(state: list[int], count: int) -> None:
    for _ in range(count):
        _add(state, 0, 1, 13, is_swapped=True)
        _add(state, 2, 3, 16, is_swapped=False)
        _add(state, 0, 3, 21, is_swapped=False)
        _add(state, 2, 1, 17, is_swapped=True)


def _add(state: list[int], one: int, other: int, bits: int, is_swapped: bool) -> None:
    state[one] = state[one] + state[other] & _MASK
    state[other] = _turned(state[other], bits) ^ state[one]
    if is_swapped:
        state[one] = _turned(state[one], 32)


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _MASK
