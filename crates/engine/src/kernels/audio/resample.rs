//! Changes the sample rate with a filter of windowed sinc functions.
//!
//! Source: `torchaudio.functional.resample` with its defaults: a Hann window, a low-pass filter of
//! width 6 and a roll-off of 0.99.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate::{self, Refusal};
use crate::tensor::shape::Shape;
use std::f64::consts::PI;
use std::sync::{Arc, Mutex};

const FILTER_WIDTH: f64 = 6.0;
const ROLL_OFF: f64 = 0.99;
/// The maximum sample rate.
pub const MAX_RATE: i64 = 1_000_000;
/// The number of filters to keep.
const KEPT: usize = 8;

/// Resamples along the first axis.
pub struct Resample {
    rates: Rates,
}

impl Resample {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { rates: Rates::new(attrs.int("new_freq")?)? })
    }
}

impl Kernel for Resample {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [samples, rate] = expect_inputs(&inputs)?;
        let (length, of_sample) = match samples.shape().to_vec()[..] {
            [length] => (length, 1),
            [length, channels] => (length, channels),
            _ => {
                let text = format!("samples has shape {}, expected (samples,) or (samples, channels)", samples.shape());
                return Err(Error::invalid_argument(text));
            }
        };
        let values = samples.values::<f32>()?;
        let Some(resampler) = self.rates.from(rate.integer_scalar("orig_freq")?)? else {
            return Ok(Step::one(samples.clone()));
        };
        let (resampled, count) = resampler.apply(values, length, of_sample)?;
        let mut shape = samples.shape().to_vec();
        shape[0] = count;
        Tensor::from_values(Shape::new(&shape), resampled).map(Step::one)
    }
}

/// Filters from any sample rate to one. Recently used ones are kept.
pub struct Rates {
    to: usize,
    kept: Mutex<Vec<(i64, Arc<Resampler>)>>,
}

impl Rates {
    pub fn new(to: i64) -> Result<Self> {
        Ok(Self { to: checked(to)?, kept: Mutex::default() })
    }

    /// Returns the filter from a rate, or `None` if nothing has to change.
    pub fn from(&self, rate: i64) -> Result<Option<Arc<Resampler>>> {
        let from = checked(rate)?;
        if from == self.to {
            return Ok(None);
        }
        let find = || self.kept.lock().ok()?.iter().find(|(kept, _)| *kept == rate).map(|(_, one)| one.clone());
        if let Some(resampler) = find() {
            return Ok(Some(resampler));
        }
        let resampler = Resampler::new(from, self.to).map_err(|refusal| refusal.at("the resampling filter"))?;
        let resampler = Arc::new(resampler);
        if let Ok(mut kept) = self.kept.lock() {
            kept.truncate(KEPT - 1);
            kept.insert(0, (rate, resampler.clone()));
        }
        Ok(Some(resampler))
    }
}

fn checked(rate: i64) -> Result<usize> {
    match rate {
        1..=MAX_RATE => Ok(rate as usize),
        _ => Err(Error::invalid_argument(format!(
            "the sample rate is {rate}, expected 1 to {MAX_RATE}. If it comes from a file, the file is damaged"
        ))),
    }
}

/// A filter from one sample rate to another.
pub struct Resampler {
    from: usize,
    to: usize,
    /// The number of taps per phase.
    num_taps: usize,
    /// The weights of each of the `to` phases.
    taps: Vec<f32>,
    /// The position of each phase's first tap, relative to the sample of the first phase.
    starts: Vec<isize>,
}

impl Resampler {
    fn new(from: usize, to: usize) -> std::result::Result<Self, Refusal> {
        let divisor = greatest_divisor(from, to);
        let (from, to) = (from / divisor, to / divisor);
        let base = from.min(to) as f64 * ROLL_OFF;
        let width = (FILTER_WIDTH * from as f64 / base).ceil();
        let num_taps = 2 * width as usize + 1;
        let (mut taps, mut starts) = (allocate::room(num_taps * to)?, allocate::room(to)?);
        for phase in 0..to {
            let centre = phase as f64 / to as f64;
            let start = (centre * from as f64 - width).ceil();
            starts.push(start as isize);
            taps.extend((0..num_taps).map(|tap| {
                let time = (start + tap as f64) / from as f64 - centre;
                let time = (time * base).clamp(-FILTER_WIDTH, FILTER_WIDTH);
                let window = (time * PI / FILTER_WIDTH / 2.0).cos().powi(2);
                let angle = time * PI;
                let sinc = if angle == 0.0 { 1.0 } else { angle.sin() / angle };
                (sinc * window * base / from as f64) as f32
            }));
        }
        Ok(Self { from, to, num_taps, taps, starts })
    }

    /// Resamples each channel. There are `length` samples of `of_sample` values each. Returns the
    /// values and the number of samples.
    pub fn apply(&self, values: &[f32], length: usize, of_sample: usize) -> Result<(Vec<f32>, usize)> {
        let refused = |refusal: Refusal| refusal.at("resampled audio");
        let count = (length as u128 * self.to as u128).div_ceil(self.from as u128);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let mut resampled = allocate::zeros(count.saturating_mul(of_sample)).map_err(refused)?;
        let mut plane = Vec::new();
        for channel in 0..of_sample {
            let samples = if of_sample == 1 {
                values
            } else {
                plane.clear();
                allocate::reserve(&mut plane, length).map_err(refused)?;
                plane.extend(values.iter().skip(channel).step_by(of_sample));
                &plane[..]
            };
            let positions = resampled.iter_mut().skip(channel).step_by(of_sample);
            for (index, position) in positions.enumerate() {
                *position = self.sample(samples, index / self.to * self.from, index % self.to);
            }
        }
        Ok((resampled, count))
    }

    /// Computes one sample of a phase. `base` is the sample of the first phase.
    fn sample(&self, samples: &[f32], base: usize, phase: usize) -> f32 {
        let taps = &self.taps[phase * self.num_taps..][..self.num_taps];
        let start = base as isize + self.starts[phase];
        let skipped = start.min(0).unsigned_abs().min(self.num_taps);
        let first = start.max(0) as usize;
        let samples = samples.get(first..).unwrap_or_default();
        dot(&taps[skipped..], samples)
    }
}

/// The sum of products, up to the end of the shorter list.
fn dot(taps: &[f32], samples: &[f32]) -> f32 {
    const LANES: usize = 8;
    let count = taps.len().min(samples.len());
    let ((taps, taps_left), (samples, samples_left)) =
        (taps[..count].as_chunks::<LANES>(), samples[..count].as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (taps, samples) in taps.iter().zip(samples) {
        for lane in 0..LANES {
            sums[lane] += taps[lane] * samples[lane];
        }
    }
    let rest: f32 = taps_left.iter().zip(samples_left).map(|(tap, sample)| tap * sample).sum();
    sums.iter().sum::<f32>() + rest
}

fn greatest_divisor(mut one: usize, mut other: usize) -> usize {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};

    fn resampled(samples: Vec<f32>, shape: &[usize], from: i32, to: i64) -> Tensor {
        let kernel = Resample::from_attrs(&attrs([("new_freq", Attr::Int(to))])).unwrap();
        run_one(&kernel, &[Tensor::from_values(Shape::new(shape), samples).unwrap(), Tensor::scalar(from)]).unwrap()
    }

    #[test]
    fn number_of_samples_is_rounded_up() {
        for (length, from, to, expected) in [(100, 44_100, 16_000, 37), (1, 3, 7, 3), (0, 3, 7, 0), (5, 8000, 8000, 5)]
        {
            let tensor = resampled(vec![0.5; length], &[length], from, to);
            assert_eq!(tensor.shape().to_vec(), [expected], "{length} {from} {to}");
        }
    }

    #[test]
    fn low_tone_is_unchanged() {
        let tone = |rate: f32, count: usize| {
            (0..count).map(|index| (index as f32 * std::f32::consts::TAU * 100.0 / rate).sin()).collect::<Vec<_>>()
        };
        let tensor = resampled(tone(8000.0, 4000), &[4000], 8000, 12_000);
        let expected = tone(12_000.0, 6000);
        let values = tensor.values::<f32>().unwrap();
        let error = (100..5900).map(|index| (values[index] - expected[index]).abs()).fold(0.0, f32::max);
        assert!(error < 2e-3, "{error}");
    }

    #[test]
    fn channels_are_resampled_separately() {
        let one: Vec<f32> = (0..50).map(|index| (index * 7 % 11) as f32).collect();
        let other: Vec<f32> = (0..50).map(|index| (index * 5 % 13) as f32).collect();
        let both = one.iter().zip(&other).flat_map(|(one, other)| [*one, *other]).collect();
        let together = resampled(both, &[50, 2], 3, 2);
        let [one, other] = [one, other].map(|plane| resampled(plane, &[50], 3, 2));
        let zipped = one.values::<f32>().unwrap().iter().zip(other.values::<f32>().unwrap());
        let expected: Vec<f32> = zipped.flat_map(|(one, other)| [*one, *other]).collect();
        assert_eq!((together.shape().to_vec(), together.values::<f32>().unwrap()), (vec![34, 2], &expected[..]));
    }

    #[test]
    fn invalid_rates_are_rejected() {
        let kernel = Resample::from_attrs(&attrs([("new_freq", Attr::Int(8000))])).unwrap();
        let samples = Tensor::from_values(Shape::new(&[1]), vec![0.0_f32]).unwrap();
        let text = error_text(&kernel, &[samples, Tensor::scalar(0)]);
        assert!(text.contains("the sample rate is 0, expected 1 to 1000000"), "{text}");
    }
}
