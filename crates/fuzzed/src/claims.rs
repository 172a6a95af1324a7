//! Sizes claimed by headers, read by other code than the engine's: inputs that claim too much would
//! take too long.

/// The number of bytes of elements that a TensorProto claims; `None` if it is malformed or claims
/// none.
pub fn tensor_bytes(message: &[u8]) -> Option<usize> {
    let mut elements = 1_usize;
    let mut rest = message;
    while let Some((number, part, behind)) = field(rest) {
        rest = behind;
        let mut shape = if number == 2 { part } else { &[] };
        while let Some((2, dim, behind)) = field(shape) {
            shape = behind;
            elements = elements.saturating_mul(size(dim));
        }
    }
    Some(elements.saturating_mul(32))
}

/// The largest size in a dimension, at least 1.
fn size(mut dim: &[u8]) -> usize {
    let mut size = 1;
    while let Some((key, behind)) = varint(dim) {
        let Some((value, behind)) = varint(behind) else { break };
        if key == 8 {
            size = size.max(usize::try_from(value).unwrap_or(usize::MAX));
        }
        dim = behind;
    }
    size
}

/// The first field: its number, its bytes if it has any, and the rest after it.
fn field(message: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (key, rest) = varint(message)?;
    let (length, rest) = match key & 7 {
        0 => {
            let (_, rest) = varint(rest)?;
            return Some((key >> 3, &[], rest));
        }
        1 => (8, rest),
        5 => (4, rest),
        2 => varint(rest)?,
        _ => return None,
    };
    let (part, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((key >> 3, part, rest))
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let end = bytes.iter().take(10).position(|byte| *byte < 0x80)?;
    let value = bytes[..=end].iter().rev().fold(0_u64, |value, byte| value << 7 | u64::from(byte & 0x7f));
    Some((value, &bytes[end + 1..]))
}

/// The number of pixels that a PNG claims.
pub fn png_pixels(data: &[u8]) -> usize {
    product(number::<4, true>(data, 16), number::<4, true>(data, 20))
}

/// The number of pixels that a GIF claims. It has at most one frame, of at least 12 bytes, for each
/// comma.
pub fn gif_pixels(data: &[u8]) -> usize {
    let frames = data.iter().filter(|byte| **byte == b',').count().min(data.len() / 12);
    product(number::<2, false>(data, 6), number::<2, false>(data, 8)).saturating_mul(frames)
}

/// The number of pixels that a BMP claims. Its height may be negative.
pub fn bmp_pixels(data: &[u8]) -> usize {
    let height = number::<4, false>(data, 22) as u32;
    product(number::<4, false>(data, 18), height.cast_signed().unsigned_abs() as usize)
}

fn product(one: usize, other: usize) -> usize {
    one.saturating_mul(other)
}

fn number<const N: usize, const IS_BIG_ENDIAN: bool>(data: &[u8], at: usize) -> usize {
    let bytes = data.get(at..at + N).unwrap_or_default();
    let shifted = |value: usize, byte: &u8| value << 8 | usize::from(*byte);
    match IS_BIG_ENDIAN {
        true => bytes.iter().fold(0, shifted),
        false => bytes.iter().rev().fold(0, shifted),
    }
}
