//! Edit lists, which determine the samples that a player shows, and when.
//!
//! Source: ISO/IEC 14496-12, section 8.6.6. A sample belongs to an edit if it begins within the
//! edit, as in FFmpeg.

use crate::boxes::Mp4Box;
use crate::samples::{Frame, Sample};
use crate::{damaged, unsupported};
use headrace_engine::error::Result;
use headrace_engine::tensor::allocate;

/// A player may show each sample this many times on average.
const MOST_REPEATS: usize = 4;

/// A part of a track.
#[derive(Clone, Copy, Debug)]
pub struct Edit {
    /// Its duration in units of the movie; 0 for the rest of the track.
    duration: u64,
    /// Its start in units of the track, or -1 if nothing is shown.
    start: i64,
}

/// Parses the `elst` box.
pub fn parse(list: &Mp4Box<'_>) -> Result<Vec<Edit>> {
    let (version, _, mut fields) = list.versioned()?;
    let is_long = version == 1;
    let count = fields.u32()?;
    let mut edits = Vec::new();
    for _ in 0..count {
        let duration = fields.u32_or_u64(is_long)?;
        let start = if is_long { fields.u64()? as i64 } else { i64::from(fields.i32()?) };
        let rate = fields.u32()?;
        if start < -1 {
            return Err(list.damaged(format_args!("has an edit that starts at {start}")));
        }
        if rate != 1 << 16 && start >= 0 {
            let rate = f64::from(rate) / 65536.0;
            return Err(unsupported(format_args!("the video track is played at {rate} times its speed, expected 1")));
        }
        edits.push(Edit { duration, start });
    }
    Ok(edits)
}

/// Returns the frames that a player shows, in order.
pub fn frames(samples: &[Sample], edits: &[Edit], timescale: u32, movie_timescale: u32) -> Result<Vec<Frame>> {
    let no_memory = |refusal: allocate::Refusal| refusal.at("the frames of a video");
    let mut order = allocate::collected(samples.len(), 0..samples.len() as u32).map_err(no_memory)?;
    let time = |number: u32| samples[number as usize].time;
    order.sort_by_key(|number| time(*number));
    if edits.is_empty() {
        let frames = order.iter().map(|number| Frame { sample: *number, time: time(*number) });
        return allocate::collected(order.len(), frames).map_err(no_memory);
    }
    let in_track = |duration: u64| rescaled(duration, timescale, movie_timescale);
    let mut frames = Vec::new();
    let mut begin: u64 = 0;
    for edit in edits {
        let shown_at = in_track(begin);
        begin = begin.checked_add(edit.duration).ok_or_else(|| damaged("the edits of the video track are too long"))?;
        if edit.start < 0 {
            continue;
        }
        let end = edit.start.saturating_add(in_track(edit.duration));
        let first = order.partition_point(|number| time(*number) < edit.start);
        let last = order.partition_point(|number| edit.duration == 0 || time(*number) < end).max(first);
        if frames.len() + (last - first) > samples.len().saturating_mul(MOST_REPEATS) {
            return Err(unsupported("the edits of the video track repeat its frames too often"));
        }
        allocate::grow(&mut frames, last - first).map_err(no_memory)?;
        let frame = |number: &u32| {
            let since = time(*number).saturating_sub(edit.start);
            Frame { sample: *number, time: shown_at.saturating_add(since) }
        };
        frames.extend(order[first..last].iter().map(frame));
    }
    Ok(frames)
}

/// Converts a duration between units, and rounds it.
fn rescaled(duration: u64, timescale: u32, movie_timescale: u32) -> i64 {
    let movie_timescale = u128::from(movie_timescale.max(1));
    let scaled = (u128::from(duration) * u128::from(timescale) + movie_timescale / 2) / movie_timescale;
    i64::try_from(scaled).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(times: &[i64]) -> Vec<Sample> {
        let sample = |time: &i64| Sample { offset: 0, num_bytes: 1, duration: 10, time: *time, is_keyframe: true };
        times.iter().map(sample).collect()
    }

    fn shown(times: &[i64], edits: &[(u64, i64)]) -> Vec<(u32, i64)> {
        let edits: Vec<_> = edits.iter().map(|&(duration, start)| Edit { duration, start }).collect();
        let frames = frames(&samples(times), &edits, 100, 1000).unwrap();
        frames.iter().map(|frame| (frame.sample, frame.time)).collect()
    }

    #[test]
    fn frames_are_in_presentation_order() {
        assert_eq!(shown(&[10, 40, 20, 30], &[]), [(0, 10), (2, 20), (3, 30), (1, 40)]);
    }

    #[test]
    fn edit_skips_samples_that_begin_outside_it() {
        assert_eq!(shown(&[0, 10, 20, 30], &[(200, 10)]), [(1, 0), (2, 10)]);
        assert_eq!(shown(&[0, 10, 20, 30], &[(0, 15)]), [(2, 5), (3, 15)]);
    }

    #[test]
    fn empty_edit_delays_the_frames() {
        assert_eq!(shown(&[0, 10], &[(50, -1), (1000, 0)]), [(0, 5), (1, 15)]);
    }

    #[test]
    fn edits_may_repeat_frames_a_few_times() {
        assert_eq!(shown(&[0, 10], &[(100, 10), (100, 0)]), [(1, 0), (0, 10)]);
        let edits = [Edit { duration: 0, start: 0 }; 5];
        assert!(frames(&samples(&[0, 10]), &edits, 100, 1000).unwrap_err().message().contains("repeat"));
    }

    #[test]
    fn edits_that_change_the_speed_are_rejected() {
        let body = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 2, 0, 0];
        let list = Mp4Box { kind: *b"elst", offset: 0, body: &body, body_offset: 8 };
        assert!(parse(&list).unwrap_err().message().contains("2 times its speed"));
    }
}
