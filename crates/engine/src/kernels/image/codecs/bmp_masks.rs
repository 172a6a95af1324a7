//! BMP bit-field masks, which specify the positions of the channels in a pixel.
//!
//! Source: `BITMAPV5HEADER` in the Windows API.

/// The position of the masks, which follow the fields of small headers or are part of larger ones.
const MASKS: usize = 54;
/// The size of the smallest header with an alpha mask.
const HEADER_WITH_ALPHA: u32 = 56;
/// The number of `BI_ALPHABITFIELDS`, with which there are always four masks.
const WITH_ALPHA: u32 = 6;

/// The bits of one channel in a pixel. They are adjacent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Field {
    mask: u32,
    shift: u32,
}

/// The masks for red, green and blue, and for alpha if there is one.
#[derive(Debug, PartialEq)]
pub struct Masks {
    fields: [Field; 4],
    pub num_channels: usize,
}

impl Masks {
    /// The masks for pixels of 16, 24 or 32 bits in a file without bit fields.
    pub fn standard(bits: u16) -> Self {
        let masks = match bits {
            16 => [0x7c00, 0x3e0, 0x1f, 0],
            24 => [0xff_0000, 0xff00, 0xff, 0],
            // As in TensorFlow, the last byte counts as alpha.
            _ => [0xff_0000, 0xff00, 0xff, 0xff00_0000],
        };
        Self::of(masks).expect("bits of a mask are next to each other")
    }

    /// Reads the masks of a file. Returns `None` if the file is too short or the masks are invalid.
    pub fn read(contents: &[u8], bits: u16, header_size: u32, compression: u32) -> Option<Self> {
        let number = |index: usize| {
            let bytes = contents.get(MASKS + 4 * index..)?.first_chunk()?;
            Some(u32::from_le_bytes(*bytes))
        };
        let has_alpha = header_size >= HEADER_WITH_ALPHA || compression == WITH_ALPHA;
        let masks = [number(0)?, number(1)?, number(2)?, if has_alpha { number(3)? } else { 0 }];
        if masks == [0; 4] {
            return Some(Self::standard(bits));
        }
        let fits = bits == 32 || masks.iter().all(|mask| *mask < 1 << bits);
        if fits && masks[..3].iter().all(|mask| *mask != 0) { Self::of(masks) } else { None }
    }

    fn of(masks: [u32; 4]) -> Option<Self> {
        let field = |mask: u32| {
            let shift = if mask == 0 { 0 } else { mask.trailing_zeros() };
            let is_contiguous = (u64::from(mask >> shift) + 1).is_power_of_two();
            is_contiguous.then_some(Field { mask, shift })
        };
        let [red, green, blue, alpha] = masks.map(field);
        Some(Self { fields: [red?, green?, blue?, alpha?], num_channels: if masks[3] == 0 { 3 } else { 4 } })
    }

    /// Appends the channels of a row of pixels, scaled to 0–255 as in Pillow.
    pub fn extend(&self, samples: &mut Vec<u8>, row: &[u8], bits: u16) {
        for bytes in row.chunks_exact(usize::from(bits) / 8) {
            let pixel = bytes.iter().rev().fold(0, |pixel, byte| pixel << 8 | u32::from(*byte));
            samples.extend(self.fields[..self.num_channels].iter().map(|field| field.of(pixel)));
        }
    }
}

impl Field {
    fn of(self, pixel: u32) -> u8 {
        let (value, most) = ((pixel & self.mask) >> self.shift, self.mask >> self.shift);
        match most {
            0xff => value as u8,
            _ => (u64::from(value) * 255 / u64::from(most)) as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(masks: &[u32], bits: u16, header_size: u32, compression: u32) -> Option<Masks> {
        let bytes: Vec<u8> = masks.iter().flat_map(|mask| mask.to_le_bytes()).collect();
        Masks::read(&[&[0; MASKS][..], &bytes].concat(), bits, header_size, compression)
    }

    #[test]
    fn masks_define_the_channels() {
        let masks = read(&[0xff, 0xff00, 0xff_0000, 0xff00_0000], 32, 56, 3).unwrap();
        let mut samples = Vec::new();
        masks.extend(&mut samples, &[1, 2, 3, 4, 5, 6, 7, 8], 32);
        assert_eq!(samples, [1, 2, 3, 4, 5, 6, 7, 8]);
        let masks = read(&[0xf800, 0x7e0, 0x1f], 16, 40, 3).unwrap();
        samples.clear();
        masks.extend(&mut samples, &0x803f_u16.to_le_bytes(), 16);
        assert_eq!(samples, [131, 4, 255]);
    }

    #[test]
    fn invalid_masks_are_rejected() {
        assert_eq!(read(&[0, 0, 0], 32, 40, 3), Some(Masks::standard(32)));
        assert!(read(&[0xff, 0xff00, 0], 32, 40, 3).is_none());
        assert!(read(&[0x505, 0xff0000, 0xff000000], 32, 40, 3).is_none());
        assert!(read(&[0xff_0000, 0xff00, 0xff], 16, 40, 3).is_none());
        assert!(read(&[0xff_0000, 0xff00, 0xff], 32, 40, 6).is_none());
    }
}
