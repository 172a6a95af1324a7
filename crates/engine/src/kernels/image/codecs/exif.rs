//! Finds EXIF data in files and reads the orientation from it.
//!
//! Source: Exif 2.32, section 4.6 (orientation is tag 274 of the first directory), and TIFF 6.0.

/// The tag of the orientation.
const ORIENTATION: u16 = 0x0112;
/// The type of a 16-bit number.
const SHORT: u16 = 3;
/// Marks EXIF data in a JPEG.
const NAME: &[u8] = b"Exif\0\0";

/// The orientation in EXIF data, from 1 to 8, which determines how a picture is rotated and
/// flipped. 1 means unchanged, and is also returned if the data is damaged or has no orientation.
pub fn orientation(data: &[u8]) -> u8 {
    let data = data.strip_prefix(NAME).unwrap_or(data);
    match find(data) {
        Some(number @ 1..=8) => number as u8,
        _ => 1,
    }
}

fn find(data: &[u8]) -> Option<u16> {
    let is_little = match data.get(..2)? {
        b"II" => true,
        b"MM" => false,
        _ => return None,
    };
    let short = |offset: usize| {
        let bytes = data.get(offset..offset.checked_add(2)?)?.try_into().ok()?;
        Some(if is_little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    };
    let long = |offset: usize| {
        let bytes = data.get(offset..offset.checked_add(4)?)?.try_into().ok()?;
        Some(if is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    };
    if short(2)? != 42 {
        return None;
    }
    let directory = long(4)? as usize;
    let entries = (0..usize::from(short(directory)?)).map(|number| directory + 2 + 12 * number);
    let entry = entries.take_while(|offset| *offset < data.len()).find(|offset| short(*offset) == Some(ORIENTATION))?;
    (short(entry + 2)? == SHORT && long(entry + 4)? == 1).then(|| short(entry + 8))?
}

/// Finds the EXIF data of a JPEG: the first APP1 segment with that name before the pixels begin.
pub fn of_jpeg(contents: &[u8]) -> Option<&[u8]> {
    const START: u8 = 0xda;
    const APP1: u8 = 0xe1;
    let mut rest = contents.strip_prefix(b"\xff\xd8")?;
    loop {
        let [0xff, marker, ..] = rest else { return None };
        match *marker {
            // A marker may be preceded by any number of these.
            0xff => rest = &rest[1..],
            START => return None,
            marker => {
                let length = usize::from(u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?]));
                let segment = rest.get(4..2 + length)?;
                if marker == APP1 && segment.starts_with(NAME) {
                    return Some(segment);
                }
                rest = &rest[2 + length..];
            }
        }
    }
}

/// Finds the EXIF data of a PNG: the chunk with that name, before or after the pixels.
pub fn of_png(contents: &[u8]) -> Option<&[u8]> {
    let mut rest = contents.get(8..)?;
    loop {
        let length = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        let chunk = rest.get(8..length.checked_add(8)?)?;
        match &rest[4..8] {
            b"eXIf" => return Some(chunk),
            _ => rest = rest.get(length + 12..)?,
        }
    }
}

/// Finds the EXIF data of a WebP: the chunk with that name.
pub fn of_webp(contents: &[u8]) -> Option<&[u8]> {
    let mut rest = contents.get(12..)?;
    loop {
        let length = u32::from_le_bytes(rest.get(4..8)?.try_into().ok()?) as usize;
        let chunk = rest.get(8..length.checked_add(8)?)?;
        match &rest[..4] {
            b"EXIF" => return Some(chunk),
            _ => rest = rest.get(length + 8 + length % 2..)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates EXIF data with a single entry.
    fn data(is_little: bool, number: u16) -> Vec<u8> {
        let short = |value: u16| if is_little { value.to_le_bytes() } else { value.to_be_bytes() };
        let long = |value: u32| if is_little { value.to_le_bytes() } else { value.to_be_bytes() };
        let mut data = if is_little { b"II".to_vec() } else { b"MM".to_vec() };
        data.extend(short(42));
        data.extend(long(8));
        [1, ORIENTATION, SHORT].iter().for_each(|value| data.extend(short(*value)));
        data.extend(long(1));
        data.extend(short(number));
        data.extend([0; 6]);
        data
    }

    #[test]
    fn orientation_is_read_in_both_byte_orders() {
        for is_little in [true, false] {
            assert_eq!([0, 1, 6, 8, 9].map(|number| orientation(&data(is_little, number))), [1, 1, 6, 8, 1]);
        }
        let whole = data(true, 6);
        (0..whole.len() - 6).for_each(|end| assert!(matches!(orientation(&whole[..end]), 1 | 6)));
        assert_eq!(orientation(&[NAME, &whole].concat()), 6);
    }

    #[test]
    fn exif_data_is_found_in_png_and_webp_chunks() {
        let png = [&b"\x89PNG\r\n\x1a\n\0\0\0\x01IDATxcrc."[..], b"\0\0\0\x02eXIfabcrc."].concat();
        assert_eq!(of_png(&png), Some(&b"ab"[..]));
        assert_eq!(of_png(&png[..30]), None);
        let webp = [&b"RIFF\0\0\0\0WEBPVP8 \x01\0\0\0x\0"[..], b"EXIF\x02\0\0\0ab"].concat();
        assert_eq!(of_webp(&webp), Some(&b"ab"[..]));
        assert_eq!(of_webp(&webp[..27]), None);
    }

    #[test]
    fn exif_data_is_found_before_jpeg_pixels() {
        let segment = [NAME, b"x"].concat();
        let app1 = [&[0xff, 0xe1, 0, 2 + segment.len() as u8][..], &segment].concat();
        let other = [0xff, 0xe0, 0, 4, 1, 2];
        let file = |parts: &[&[u8]]| [&[0xff, 0xd8][..], &parts.concat()].concat();
        assert_eq!(of_jpeg(&file(&[&other, &app1])), Some(&segment[..]));
        assert_eq!(of_jpeg(&file(&[&other, &[0xff, 0xda], &app1])), None);
        assert_eq!(of_jpeg(&file(&[&[0xff, 0xe1, 0xff, 0xff, 1]])), None);
        assert_eq!(of_jpeg(&file(&[&[0xff, 0xe0, 0, 0]])), None);
        assert_eq!(of_jpeg(b""), None);
    }
}
