"""Variable-length integers and masked checksums, as in LevelDB."""

from headrace.core.engine import crc32c

__all__ = ["masked_crc32c", "read_varint", "write_varint"]

_MASK_DELTA = 0xA282EAD8
_UINT32 = 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """Computes a masked checksum. Because of the mask, data can contain its own checksum."""
    checksum = crc32c(data)
    return (((checksum >> 15) | (checksum << 17)) + _MASK_DELTA) & _UINT32


def write_varint(value: int) -> bytes:
    """Encodes a nonnegative number as groups of seven bits, lowest first."""
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Decodes a number.

    Args:
        data: The bytes that contain the number.
        position: The position at which the number starts.

    Returns:
        The number, and the position after it.

    Raises:
        ValueError: If the data ends inside the number, or the number has more than 64 bits.
    """
    value = 0
    for shift in range(0, 64, 7):
        if position >= len(data):
            raise ValueError("the data ends inside a number")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError("a number has more than 64 bits")
