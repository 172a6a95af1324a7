//! Palettes of TIFF, which the crate `tiff` does not read.
//!
//! Source: TIFF 6.0, sections 2 and 5.

use super::tiff_directory::{Directory, ENTRY_BYTES};
use crate::tensor::allocate::{self, Refusal};

/// The tag of the photometric interpretation.
const INTERPRETATION: u16 = 262;
/// The photometric interpretation of grey, of which 0 is black.
const GREY: u8 = 1;

/// The colours of a colour map, of 16 bits; `None` if it does not have so many. Numbers below 256
/// alone are of 8 bits, as libtiff takes them.
pub fn colours_of(map: &[u32], num_colours: usize) -> Option<Vec<[u16; 3]>> {
    if map.len() != 3 * num_colours {
        return None;
    }
    let times = if map.iter().all(|number| *number < 256) { 257 } else { 1 };
    let part = |at: usize| u16::try_from(map[at] * times).ok();
    (0..num_colours).map(|at| Some([part(at)?, part(at + num_colours)?, part(at + 2 * num_colours)?])).collect()
}

/// A copy of a file whose first image is grey; `None` if the file is damaged.
pub fn as_grey(contents: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
    let Some(value) = value_of_interpretation(contents) else { return Ok(None) };
    let mut copy = allocate::room(contents.len())?;
    copy.extend_from_slice(contents);
    let is_little = copy.starts_with(b"II");
    copy[value..value + 2].copy_from_slice(&if is_little { [GREY, 0] } else { [0, GREY] });
    Ok(Some(copy))
}

/// The offset of the value of the interpretation, a number of 16 bits.
fn value_of_interpretation(contents: &[u8]) -> Option<usize> {
    let directory = Directory::of(contents)?;
    let entry = directory.entries().find(|entry| directory.short(*entry) == Some(INTERPRETATION))?;
    let is_short = directory.short(entry + 2)? == 3;
    (is_short && entry + ENTRY_BYTES <= contents.len()).then_some(entry + 8)
}
