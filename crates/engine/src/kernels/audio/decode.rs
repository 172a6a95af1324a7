//! Decodes audio files, or parts of them.

use super::codecs::open;
use super::codecs::samples::{Part, Samples};
use super::resample::Rates;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::shape::Shape;

/// Decodes a file, or part of it if there are two more inputs: the first sample and the number of
/// samples.
pub struct DecodeAudio {
    is_mono: bool,
    /// `None` to keep the file's sample rate.
    rates: Option<Rates>,
}

impl DecodeAudio {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let rate = attrs.int("sample_rate")?;
        let rates = if rate == 0 { None } else { Some(Rates::new(rate)?) };
        Ok(Self { is_mono: attrs.bool("mono")?, rates })
    }

    fn decode(&self, contents: &[u8], part: Part) -> Result<Tensor> {
        let sound = open(contents)?;
        let num_samples = sound.num_samples()?;
        let expected = part.end(num_samples)? - part.start;
        let mut samples = Samples::new(sound.channels(), self.is_mono, expected, sound.values_at_once())?;
        sound.decode(part, &mut samples)?;
        let (mut values, of_sample) = samples.into_values();
        let mut length = values.len() / of_sample;
        if length as u64 != expected {
            return Err(Error::internal(format!("audio of {expected} samples decoded to {length} samples")));
        }
        if let Some(rates) = &self.rates
            && let Some(resampler) = rates.from(sound.sample_rate().into())?
        {
            (values, length) = resampler.apply(&values, length, of_sample)?;
        }
        let shape = if self.is_mono { vec![length] } else { vec![length, of_sample] };
        Tensor::from_values(Shape::new(&shape), values)
    }
}

impl Kernel for DecodeAudio {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let (contents, part) = match inputs.as_slice() {
            [contents] => (contents, Part::ALL),
            [contents, start, length] => (contents, part(start, length)?),
            _ => return Err(Error::internal(format!("got {} inputs, expected 1 or 3", inputs.len()))),
        };
        self.decode(contents.string_scalar("contents")?, part).map(Step::one)
    }
}

fn part(start: &Tensor, length: &Tensor) -> Result<Part> {
    let number = |tensor: &Tensor, name: &str| {
        let value = tensor.integer_scalar(name)?;
        let error = || Error::invalid_argument(format!("{name} is {value}, expected 0 or more"));
        u64::try_from(value).map_err(|_| error())
    };
    Ok(Part { start: number(start, "start")?, length: Some(number(length, "length")?) })
}

/// Reads a number from the headers of a file.
pub enum AudioHeader {
    /// The number of samples per second.
    SampleRate,
    /// The number of samples per channel.
    NumSamples,
}

impl Kernel for AudioHeader {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [contents] = crate::kernels::expect_inputs(&inputs)?;
        let sound = open(contents.string_scalar("contents")?)?;
        Ok(Step::one(match self {
            Self::SampleRate => {
                let rate = sound.sample_rate();
                let error = || {
                    Error::invalid_argument(format!("the sample rate of the file is {rate}, expected less than 2**31"))
                };
                Tensor::scalar(i32::try_from(rate).map_err(|_| error())?)
            }
            Self::NumSamples => Tensor::scalar(sound.num_samples()? as i64),
        }))
    }
}
