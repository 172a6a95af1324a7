//! Replaces matches.
//!
//! Source: `RE2::GlobalReplace` and `RE2::Replace`.

use super::rewrite::Piece;
use super::{Pattern, Rewrite};
use crate::tensor::allocate::{Refusal, append};
use regex::bytes::CaptureLocations;
use std::ops::Range;

/// The positions of the match and of its groups.
enum MatchPositions {
    /// Only the whole match is needed.
    Whole(Option<Range<usize>>),
    Groups(CaptureLocations),
}

impl Pattern {
    /// Replaces all matches, or the first one, in a text. Returns `None` if nothing changes.
    ///
    /// As in TensorFlow, a rewrite that refers to a group which the pattern does not have changes
    /// nothing. Fails if there is no memory for the result.
    pub fn replace(&self, text: &[u8], rewrite: &Rewrite, is_global: bool) -> Result<Option<Vec<u8>>, Refusal> {
        if rewrite.last_group() > self.num_groups {
            return Ok(None);
        }
        let mut positions = match rewrite.last_group() {
            0 => MatchPositions::Whole(None),
            _ => MatchPositions::Groups(self.regex.capture_locations()),
        };
        let mut out = Vec::new();
        let (mut position, mut last_end) = (0, None);
        while position <= text.len() {
            let Some(whole) = self.find(text, position, &mut positions) else { break };
            append(&mut out, &text[position..whole.start])?;
            if whole.is_empty() && last_end == Some(whole.start) {
                // An empty match directly after another match does not count.
                let length = length_of_first(&text[whole.start..]);
                append(&mut out, &text[whole.start..(whole.start + length).min(text.len())])?;
                position = whole.start + length;
                continue;
            }
            positions.expand(rewrite, text, &mut out)?;
            position = whole.end;
            last_end = Some(position);
            if !is_global {
                break;
            }
        }
        if last_end.is_none() {
            return Ok(None);
        }
        append(&mut out, text.get(position..).unwrap_or_default())?;
        Ok(Some(out))
    }

    /// Finds the first match from `start` on and stores the positions of the match or of its groups
    /// in `positions`.
    fn find(&self, text: &[u8], start: usize, positions: &mut MatchPositions) -> Option<Range<usize>> {
        match positions {
            MatchPositions::Whole(place) => {
                *place = self.regex.find_at(text, start).map(|matched| matched.range());
                place.clone()
            }
            MatchPositions::Groups(locations) => {
                self.regex.captures_read_at(locations, text, start).map(|matched| matched.range())
            }
        }
    }
}

impl MatchPositions {
    /// Appends the replacement of the match.
    fn expand(&self, rewrite: &Rewrite, text: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        for piece in rewrite.pieces() {
            match piece {
                Piece::Bytes(bytes) => append(out, bytes)?,
                Piece::Group(number) => append(out, &text[self.group(*number)])?,
            }
        }
        Ok(())
    }

    /// The position of a group's match. It is empty if the group did not match.
    fn group(&self, number: usize) -> Range<usize> {
        match self {
            Self::Whole(place) => place.clone(),
            Self::Groups(locations) => locations.get(number).map(|(start, end)| start..end),
        }
        .unwrap_or_default()
    }
}

/// Returns the length in bytes of the first character of a text, as RE2 reads it: surrogates count
/// as characters. Returns 1 if the bytes are not a character, and at the end of the text.
fn length_of_first(text: &[u8]) -> usize {
    let (num_bytes, bits, least) = match text.first() {
        Some(0xC0..=0xDF) => (2, 0x1F, 0x80),
        Some(0xE0..=0xEF) => (3, 0x0F, 0x800),
        Some(0xF0..=0xF7) => (4, 0x07, 0x1_0000),
        _ => return 1,
    };
    let Some((first, rest)) = text.get(..num_bytes).and_then(|bytes| bytes.split_first()) else { return 1 };
    let point = rest.iter().fold(u32::from(*first) & bits, |point, byte| point << 6 | u32::from(byte & 0x3F));
    let is_whole = rest.iter().all(|byte| byte & 0xC0 == 0x80) && (least..=0x10_FFFF).contains(&point);
    if is_whole { num_bytes } else { 1 }
}
