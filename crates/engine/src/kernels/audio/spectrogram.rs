//! Log-mel spectrograms.
//!
//! Source: `librosa.feature.melspectrogram` and `torchaudio.transforms.MelSpectrogram`.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate::{self, Refusal};
use crate::tensor::shape::Shape;
use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};
use std::f64::consts::TAU;
use std::sync::Arc;

/// Computes the logarithm of the energy in mel bands.
pub struct LogMelSpectrogram {
    transform: Arc<dyn RealToComplex<f32>>,
    /// The weights of the samples in a frame.
    window: Vec<f32>,
    hop_length: usize,
    /// The number of samples to add at each end.
    padding: usize,
    is_reflected: bool,
    is_squared: bool,
    bands: Vec<Band>,
    floor: f32,
    log: Log,
}

#[derive(Clone, Copy)]
enum Log {
    Natural,
    Ten,
    /// Decibels: ten times the logarithm of a power, or 20 times the logarithm of an amplitude.
    Decibels,
}

/// A band: the weights of some frequencies.
struct Band {
    first: usize,
    weights: Vec<f32>,
}

impl LogMelSpectrogram {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let size = |name: &str| attrs.int(name).map(|value| value.max(1) as usize);
        let (num_fft, win_length) = (size("n_fft")?, size("win_length")?);
        let log = match attrs.string("log")? {
            "natural" => Log::Natural,
            "log10" => Log::Ten,
            _ => Log::Decibels,
        };
        Ok(Self {
            transform: RealFftPlanner::new().plan_fft_forward(num_fft),
            window: window(num_fft, win_length),
            hop_length: size("hop_length")?,
            padding: if attrs.bool("center")? { num_fft / 2 } else { 0 },
            is_reflected: attrs.string("pad_mode")? == "reflect",
            is_squared: attrs.int("power")? == 2,
            bands: bands(attrs, num_fft)?,
            floor: attrs.float("floor")? as f32,
            log,
        })
    }

    /// Pads the samples at both ends.
    fn padded(&self, samples: &[f32]) -> Result<Vec<f32>> {
        let padding = self.padding;
        if padding > 0 && self.is_reflected && samples.len() <= padding {
            return Err(Error::invalid_argument(format!(
                "got {} samples, but reflection at the ends needs more than half of n_fft ({padding}). Use a smaller \
                 n_fft, pad_mode='constant' or longer audio",
                samples.len()
            )));
        }
        let refused = |refusal: Refusal| refusal.at("the padded samples of a spectrogram");
        let mut padded = allocate::zeros(samples.len() + 2 * padding).map_err(refused)?;
        padded[padding..padding + samples.len()].copy_from_slice(samples);
        if self.is_reflected {
            for index in 0..padding {
                padded[padding - 1 - index] = samples[index + 1];
                padded[padding + samples.len() + index] = samples[samples.len() - 2 - index];
            }
        }
        Ok(padded)
    }

    fn spectrogram(&self, samples: &[f32]) -> Result<Tensor> {
        let padded = self.padded(samples)?;
        let num_fft = self.window.len();
        let Some(room) = padded.len().checked_sub(num_fft) else {
            return Err(Error::invalid_argument(format!(
                "got {} samples, expected at least n_fft ({num_fft}) when center is False",
                samples.len()
            )));
        };
        let num_frames = room / self.hop_length + 1;
        let refused = |refusal: Refusal| refusal.at("a spectrogram");
        let count = self.bands.len().saturating_mul(num_frames);
        let mut values = allocate::zeros(count).map_err(refused)?;
        let mut frame = allocate::zeros(num_fft).map_err(refused)?;
        let mut energies = allocate::zeros(num_fft / 2 + 1).map_err(refused)?;
        let mut spectrum = allocate::copies(num_fft / 2 + 1, Complex::default()).map_err(refused)?;
        let mut scratch = allocate::copies(self.transform.get_scratch_len(), Complex::default()).map_err(refused)?;
        for index in 0..num_frames {
            let samples = &padded[index * self.hop_length..][..num_fft];
            for ((value, sample), weight) in frame.iter_mut().zip(samples).zip(&self.window) {
                *value = sample * weight;
            }
            self.transform
                .process_with_scratch(&mut frame, &mut spectrum, &mut scratch)
                .map_err(|error| Error::internal(format!("the Fourier transform failed: {error}")))?;
            for (energy, value) in energies.iter_mut().zip(&spectrum) {
                *energy = if self.is_squared { value.norm_sqr() } else { value.norm_sqr().sqrt() };
            }
            for (row, band) in self.bands.iter().enumerate() {
                let energies = &energies[band.first..];
                let sum: f32 = band.weights.iter().zip(energies).map(|(weight, energy)| weight * energy).sum();
                values[row * num_frames + index] = self.logarithm(sum);
            }
        }
        Tensor::from_values(Shape::new(&[self.bands.len(), num_frames]), values)
    }

    /// NaN remains NaN.
    fn logarithm(&self, sum: f32) -> f32 {
        let sum = if sum < self.floor { self.floor } else { sum };
        match self.log {
            Log::Natural => sum.ln(),
            Log::Ten => sum.log10(),
            Log::Decibels => sum.log10() * if self.is_squared { 10.0 } else { 20.0 },
        }
    }
}

impl Kernel for LogMelSpectrogram {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [samples] = expect_inputs(&inputs)?;
        if samples.shape().len() != 1 {
            let text = format!("samples has shape {}, expected a single channel of shape (samples,)", samples.shape());
            return Err(Error::invalid_argument(text));
        }
        self.spectrogram(samples.values::<f32>()?).map(Step::one)
    }
}

/// Creates a periodic Hann window in the middle of a frame.
fn window(num_fft: usize, win_length: usize) -> Vec<f32> {
    let first = (num_fft - win_length.min(num_fft)) / 2;
    let weight = |index: usize| match index.checked_sub(first) {
        Some(position) if position < win_length => {
            (0.5 - 0.5 * (TAU * position as f64 / win_length as f64).cos()) as f32
        }
        _ => 0.0,
    };
    (0..num_fft).map(weight).collect()
}

/// Creates bands whose weights rise towards the centre of the band and then fall.
fn bands(attrs: &Attrs, num_fft: usize) -> Result<Vec<Band>> {
    let (rate, count) = (attrs.int("sample_rate")? as f64, attrs.int("n_mels")?.max(1) as usize);
    let is_htk = attrs.string("mel_scale")? == "htk";
    let is_normalised = attrs.string("norm")? == "slaney";
    let [low, high] = [attrs.float("f_min")?, attrs.float("f_max")?].map(|frequency| to_mel(frequency, is_htk));
    let edge = |index: usize| from_mel(low + (high - low) * index as f64 / (count + 1) as f64, is_htk);
    let frequency = |bin: usize| rate * bin as f64 / num_fft as f64;
    Ok((0..count)
        .map(|band| {
            let [left, centre, right] = [0, 1, 2].map(|index| edge(band + index));
            let scale = if is_normalised { 2.0 / (right - left) } else { 1.0 };
            let weight = |bin: usize| {
                let (rising, falling) =
                    ((frequency(bin) - left) / (centre - left), (right - frequency(bin)) / (right - centre));
                (rising.min(falling).max(0.0) * scale) as f32
            };
            let first = (0..=num_fft / 2).position(|bin| weight(bin) > 0.0).unwrap_or(0);
            let weights = (first..=num_fft / 2).map(weight).take_while(|weight| *weight > 0.0).collect();
            Band { first, weights }
        })
        .collect())
}

/// Slaney's scale is linear up to 1,000 Hz and logarithmic above.
const LINEAR: f64 = 200.0 / 3.0;
const STEPS: f64 = 27.0;
const TIMES: f64 = 6.4;

fn to_mel(frequency: f64, is_htk: bool) -> f64 {
    match () {
        () if is_htk => 2595.0 * (1.0 + frequency / 700.0).log10(),
        () if frequency >= 1000.0 => 1000.0 / LINEAR + (frequency / 1000.0).ln() / TIMES.ln() * STEPS,
        () => frequency / LINEAR,
    }
}

fn from_mel(mel: f64, is_htk: bool) -> f64 {
    match mel - 1000.0 / LINEAR {
        _ if is_htk => 700.0 * (10_f64.powf(mel / 2595.0) - 1.0),
        above if above >= 0.0 => 1000.0 * (TIMES.ln() / STEPS * above).exp(),
        _ => mel * LINEAR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};

    fn kernel(center: bool) -> LogMelSpectrogram {
        let text = |text: &str| Attr::String(text.to_owned());
        let attrs = attrs([
            ("sample_rate", Attr::Int(8000)),
            ("n_fft", Attr::Int(256)),
            ("hop_length", Attr::Int(64)),
            ("win_length", Attr::Int(200)),
            ("n_mels", Attr::Int(20)),
            ("f_min", Attr::Float(0.0)),
            ("f_max", Attr::Float(4000.0)),
            ("mel_scale", text("slaney")),
            ("norm", text("slaney")),
            ("power", Attr::Int(2)),
            ("center", Attr::Bool(center)),
            ("pad_mode", text("reflect")),
            ("log", text("log10")),
            ("floor", Attr::Float(1e-10)),
        ]);
        LogMelSpectrogram::from_attrs(&attrs).unwrap()
    }

    fn samples(values: Vec<f32>) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values).unwrap()
    }

    #[test]
    fn frames_are_counted_with_and_without_padding() {
        for (is_centred, length, expected) in [(true, 1000, 16), (true, 129, 3), (false, 1000, 12), (false, 256, 1)] {
            let tensor = run_one(&kernel(is_centred), &[samples(vec![0.5; length])]).unwrap();
            assert_eq!(tensor.shape().to_vec(), [20, expected]);
        }
    }

    #[test]
    fn tone_is_loudest_in_its_band_and_silence_is_the_floor() {
        let tone = (0..1024).map(|index| (TAU * 1000.0 * f64::from(index) / 8000.0).sin() as f32).collect();
        let tensor = run_one(&kernel(false), &[samples(tone)]).unwrap();
        let values = tensor.values::<f32>().unwrap();
        let num_frames = tensor.shape()[1];
        let loudest = (0..20).max_by(|one, other| values[one * num_frames].total_cmp(&values[other * num_frames]));
        let mels = to_mel(4000.0, false) / 21.0;
        assert_eq!(loudest, Some((to_mel(1000.0, false) / mels).round() as usize - 1));
        let silence = run_one(&kernel(true), &[samples(vec![0.0; 300])]).unwrap();
        assert!(silence.values::<f32>().unwrap().iter().all(|value| *value == -10.0));
    }

    #[test]
    fn mel_scales_can_be_inverted() {
        for (frequency, is_htk) in [(0.0, false), (500.0, false), (4000.0, false), (500.0, true), (4000.0, true)] {
            assert!((from_mel(to_mel(frequency, is_htk), is_htk) - frequency).abs() < 1e-9);
        }
        assert!((to_mel(1000.0, true) - 999.985).abs() < 1e-2);
    }

    #[test]
    fn sounds_that_are_too_short_are_rejected() {
        let text = error_text(&kernel(true), &[samples(vec![0.0; 128])]);
        assert!(
            text.contains("got 128 samples, but reflection at the ends needs more than half of n_fft (128)"),
            "{text}"
        );
        let text = error_text(&kernel(false), &[samples(vec![0.0; 255])]);
        assert!(text.contains("got 255 samples, expected at least n_fft (256)"), "{text}");
    }
}
