//! Encoded pictures, and the pictures that a player shows.

use crate::damaged;
use headrace_engine::error::Result;
use std::ops::Range;

/// A picture may be decoded from an earlier keyframe than this many, at most.
const MOST_KEYFRAMES_BACK: usize = 64;

/// An encoded picture. Times are in units of the track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The position of its bytes in the file.
    pub offset: u64,
    /// The number of its bytes.
    pub num_bytes: u32,
    /// How long it is shown.
    pub duration: u32,
    /// When it is shown, before edits.
    pub time: i64,
    /// Whether a decoder can start here.
    pub is_keyframe: bool,
}

impl Sample {
    /// Where its bytes are in the file.
    pub fn range(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(u64::from(self.num_bytes))
    }
}

/// A picture that a player shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The number of its sample.
    pub sample: u32,
    /// When it is shown, in units of the track.
    pub time: i64,
}

/// Fails if there are more samples than bytes.
pub fn check_count(num_samples: u64, file_bytes: u64) -> Result<()> {
    if num_samples <= file_bytes.min(u64::from(u32::MAX)) {
        return Ok(());
    }
    Err(damaged(format_args!("the video track has {num_samples} samples, but the file has only {file_bytes} bytes")))
}

/// For each sample, the number of the sample from which to decode it. This is the last keyframe
/// before it that is not shown later. If the keyframe is shown later, the sample may refer to
/// pictures before the keyframe.
pub fn starts(samples: &[Sample]) -> Vec<u32> {
    let mut keyframes: Vec<(u32, i64)> = Vec::new();
    let mut starts = Vec::new();
    for (number, sample) in (0..).zip(samples) {
        if sample.is_keyframe {
            keyframes.push((number, sample.time));
        }
        let near = &keyframes[keyframes.len().saturating_sub(MOST_KEYFRAMES_BACK)..];
        let start = near.iter().rev().find(|(_, time)| *time <= sample.time);
        starts.push(start.or(near.first()).map_or(0, |(number, _)| *number));
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(time: i64, is_keyframe: bool) -> Sample {
        Sample { offset: 0, num_bytes: 1, duration: 1, time, is_keyframe }
    }

    #[test]
    fn pictures_shown_before_their_keyframe_start_at_the_previous_keyframe() {
        let samples = [sample(0, true), sample(3, true), sample(1, false), sample(2, false), sample(4, false)];
        assert_eq!(starts(&samples), [0, 1, 0, 0, 1]);
    }

    #[test]
    fn tracks_without_keyframes_start_at_the_first_sample() {
        assert_eq!(starts(&[sample(5, false), sample(0, false)]), [0, 0]);
        assert_eq!(starts(&[sample(5, true), sample(0, false)]), [0, 0]);
    }

    #[test]
    fn samples_are_limited_by_the_file() {
        assert!(check_count(5, 5).is_ok());
        let error = check_count(6, 5).unwrap_err();
        assert!(error.message().contains("has 6 samples, but the file has only 5 bytes"), "{error}");
    }
}
