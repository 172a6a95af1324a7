//! Collects the requested samples of a file, either interleaved or averaged over the channels.

use crate::error::{Error, Result};
use crate::tensor::allocate;

/// The maximum number of values per call: 4 GiB of float32.
///
/// A small file can decode to any length, so there has to be a limit.
pub const MAX_VALUES: usize = 1 << 30;

/// A part of a file, counted in samples per channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// The first sample.
    pub start: u64,
    /// The number of samples, or `None` for all that follow.
    pub length: Option<u64>,
}

impl Part {
    /// The whole file.
    pub const ALL: Self = Self { start: 0, length: None };

    /// The first sample after the part, in a file with `num_samples` samples. Fails if the part is
    /// outside the file.
    pub fn end(&self, num_samples: u64) -> Result<u64> {
        let end = self.length.map_or(Some(num_samples), |length| self.start.checked_add(length));
        match end.filter(|end| self.start <= *end && *end <= num_samples) {
            Some(end) => Ok(end),
            None => Err(self.outside(num_samples)),
        }
    }

    /// The error for a part outside the file.
    fn outside(&self, num_samples: u64) -> Error {
        let length = self.length.unwrap_or(0);
        Error::out_of_range(format!(
            "the slice of {length} samples from sample {} is outside the file, which has {num_samples} samples. Get \
             this number with hr.ops.audio_num_samples",
            self.start
        ))
    }
}

/// Collects samples.
pub struct Samples {
    channels: usize,
    is_mono: bool,
    /// The number of samples to leave out before the first one.
    skip: u64,
    /// The number of missing samples.
    num_missing: u64,
    values: Vec<f32>,
}

impl Samples {
    /// Creates a collector for `num_missing` samples per channel, which are averaged over the
    /// channels if `is_mono`. `at_once` is the number of values to allocate memory for in one step.
    pub fn new(channels: usize, is_mono: bool, num_missing: u64, at_once: usize) -> Result<Self> {
        let of_sample = if is_mono { 1 } else { channels } as u64;
        let num_values = num_missing.saturating_mul(of_sample);
        check_values(num_values)?;
        let values = allocate::room(at_once.min(num_values as usize)).map_err(|refusal| refusal.at("audio samples"))?;
        Ok(Self { channels, is_mono, skip: 0, num_missing, values })
    }

    /// Skips the next `num_samples` samples.
    pub fn skip(&mut self, num_samples: u64) {
        self.skip = num_samples;
    }

    /// Returns true if no samples are missing.
    pub fn is_full(&self) -> bool {
        self.num_missing == 0
    }

    /// The number of missing samples.
    pub fn num_missing(&self) -> u64 {
        self.num_missing
    }

    /// Adds `count` samples, which `value(channel, index)` returns.
    #[inline]
    pub fn push(&mut self, count: usize, value: impl Fn(usize, usize) -> f32) -> Result<()> {
        let first = self.skip.min(count as u64) as usize;
        self.skip -= first as u64;
        let taken = (self.num_missing.min((count - first) as u64)) as usize;
        self.num_missing -= taken as u64;
        let of_sample = if self.is_mono { 1 } else { self.channels };
        allocate::grow(&mut self.values, taken * of_sample).map_err(|refusal| refusal.at("audio samples"))?;
        let indices = first..first + taken;
        match (self.is_mono, self.channels) {
            (_, 1) => self.values.extend(indices.map(|index| value(0, index))),
            (true, 2) => self.values.extend(indices.map(|index| (value(0, index) + value(1, index)) / 2.0)),
            (true, channels) => self.values.extend(indices.map(|index| {
                let sum: f32 = (0..channels).map(|channel| value(channel, index)).sum();
                sum / channels as f32
            })),
            (false, channels) => {
                self.values.extend(
                    indices
                        .flat_map(|index| (0..channels).map(move |channel| (channel, index)))
                        .map(|(channel, index)| value(channel, index)),
                );
            }
        }
        Ok(())
    }

    /// Returns the values, and how many of them form one sample.
    pub fn into_values(self) -> (Vec<f32>, usize) {
        let of_sample = if self.is_mono { 1 } else { self.channels };
        (self.values, of_sample)
    }
}

/// Fails if there are too many values for one call.
pub fn check_values(num_values: u64) -> Result<()> {
    if num_values <= MAX_VALUES as u64 {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "the audio has {num_values} values, expected at most {MAX_VALUES}. Decode parts of it with \
         hr.ops.audio_slice; if it should be shorter, the file is damaged or malicious"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(is_mono: bool, skip: u64, num_missing: u64) -> Vec<f32> {
        let planes = [[0.0, 1.0, 2.0, 3.0], [0.0, 3.0, 4.0, 5.0]];
        let mut samples = Samples::new(2, is_mono, num_missing, 0).unwrap();
        samples.skip(skip);
        for _ in 0..2 {
            samples.push(4, |channel, index| planes[channel][index]).unwrap();
        }
        samples.into_values().0
    }

    #[test]
    fn channels_are_averaged_or_interleaved() {
        assert_eq!(collected(true, 0, 8), [0.0, 2.0, 3.0, 4.0, 0.0, 2.0, 3.0, 4.0]);
        assert_eq!(collected(false, 0, 2), [0.0, 0.0, 1.0, 3.0]);
    }

    #[test]
    fn samples_are_trimmed_at_both_ends() {
        assert_eq!(collected(true, 3, 3), [4.0, 0.0, 2.0]);
        assert_eq!(collected(true, 5, 9), [2.0, 3.0, 4.0]);
    }

    #[test]
    fn slice_must_be_inside_the_file() {
        let part = |start, length| Part { start, length: Some(length) };
        assert_eq!((Part::ALL.end(7).unwrap(), part(3, 4).end(7).unwrap(), part(7, 0).end(7).unwrap()), (7, 7, 7));
        let error = part(4, 4).end(7).unwrap_err();
        let text = "the slice of 4 samples from sample 4 is outside the file, which has 7 samples. Get";
        assert!(error.message().starts_with(text), "{error}");
        assert!(part(u64::MAX, 2).end(7).is_err());
    }

    #[test]
    fn sound_with_too_many_values_is_rejected() {
        let error = Samples::new(2, false, 1 << 30, 0).map(drop).unwrap_err();
        assert!(
            error.message().starts_with("the audio has 2147483648 values, expected at most 1073741824."),
            "{error}"
        );
        assert!(Samples::new(2, true, 1 << 30, 0).is_ok());
    }
}
