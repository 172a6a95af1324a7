//! Reads the sizes claimed by headers, independently of the engine. Inputs with huge claims would
//! take too long.

/// The number of bytes that a TensorProto claims for its elements. `None` if it is malformed or
/// claims none.
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

/// Reads the first field: its number, its bytes if it has any, and the remaining bytes.
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

/// The number of pixels that a GIF claims. Each of its frames has at least 12 bytes, one of which
/// is a comma.
pub fn gif_pixels(data: &[u8]) -> usize {
    let frames = data.iter().filter(|byte| **byte == b',').count().min(data.len() / 12);
    product(number::<2, false>(data, 6), number::<2, false>(data, 8)).saturating_mul(frames)
}

/// The number of pixels that a BMP claims. Its height may be negative.
pub fn bmp_pixels(data: &[u8]) -> usize {
    let height = number::<4, false>(data, 22) as u32;
    product(number::<4, false>(data, 18), height.cast_signed().unsigned_abs() as usize)
}

/// The number of pixels that a WebP claims for all its frames together. The header of a frame has
/// 24 bytes.
pub fn webp_pixels(data: &[u8]) -> usize {
    let frames = (data.len() / 24).max(1);
    match data.get(12..16) {
        Some(b"VP8X") => {
            let side = |at| number::<3, false>(data, at) + 1;
            product(side(24), side(27)).saturating_mul(frames)
        }
        Some(b"VP8L") => {
            let sides = number::<4, false>(data, 21);
            product((sides & 0x3fff) + 1, (sides >> 14 & 0x3fff) + 1)
        }
        _ => product(number::<2, false>(data, 26) & 0x3fff, number::<2, false>(data, 28) & 0x3fff),
    }
}

/// The number of pixels that a TIFF claims: the largest product of a width and a height in its
/// first directory.
pub fn tiff_pixels(data: &[u8]) -> usize {
    match data.starts_with(b"II") {
        true => tiff_sides::<false>(data),
        false => tiff_sides::<true>(data),
    }
}

fn tiff_sides<const IS_BIG_ENDIAN: bool>(data: &[u8]) -> usize {
    let is_big_tiff = number::<2, IS_BIG_ENDIAN>(data, 2) == 43;
    let (directory, first, entry_bytes, value) = match is_big_tiff {
        true => (number::<8, IS_BIG_ENDIAN>(data, 8).min(data.len()), 8, 20, 12),
        false => (number::<4, IS_BIG_ENDIAN>(data, 4), 2, 12, 8),
    };
    let num_entries = match is_big_tiff {
        true => number::<8, IS_BIG_ENDIAN>(data, directory),
        false => number::<2, IS_BIG_ENDIAN>(data, directory),
    };
    let offsets = (0..num_entries).map(|entry| directory + first + entry_bytes * entry);
    let offsets = offsets.take_while(|offset| *offset < data.len());
    let mut sides = [0, 0];
    for offset in offsets {
        // Width and height are tags 256 and 257, with two or four bytes.
        let tag = number::<2, IS_BIG_ENDIAN>(data, offset);
        let short = number::<2, IS_BIG_ENDIAN>(data, offset + value);
        let side = short.max(number::<4, IS_BIG_ENDIAN>(data, offset + value));
        if let Some(largest) = tag.checked_sub(256).and_then(|side| sides.get_mut(side)) {
            let is_short = number::<2, IS_BIG_ENDIAN>(data, offset + 2) == 3;
            *largest = (*largest).max(if is_short { short } else { side });
        }
    }
    product(sides[0], sides[1])
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
