//! Audio operations: decoding, resampling and spectrograms.

mod codecs;
mod decode;
mod resample;
mod spectrogram;

use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernels::attrs::Attrs;
use std::sync::Arc;

/// Creates the kernel for operations of type `op_type`. Returns `None` if this module has none.
pub fn build(op_type: &str, attrs: &Attrs) -> Result<Option<Arc<dyn Kernel>>> {
    Ok(Some(match op_type {
        "AudioNumSamples" => Arc::new(decode::AudioHeader::NumSamples),
        "AudioSampleRate" => Arc::new(decode::AudioHeader::SampleRate),
        "AudioSlice" | "DecodeAudio" => Arc::new(decode::DecodeAudio::from_attrs(attrs)?),
        "LogMelSpectrogram" => Arc::new(spectrogram::LogMelSpectrogram::from_attrs(attrs)?),
        "Resample" => Arc::new(resample::Resample::from_attrs(attrs)?),
        _ => return Ok(None),
    }))
}
