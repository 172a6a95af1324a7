//! Targets for audio files, using the operations that decode them.

use crate::kernels::{attrs, run, string};
use headrace_engine::kernels::attrs::Attr;
use headrace_engine::tensor::Tensor;

/// Longer files take too long.
const MOST_SAMPLES: i64 = 1 << 19;
/// The size of a sample with the maximum number of channels of a format, in bytes, with room to
/// grow.
const SAMPLE_BYTES: usize = 32 * 4 * 3;

/// `[options, file...]`: decodes a file in any format, as a whole and in part.
pub fn sound(data: &[u8]) -> usize {
    let [option, data @ ..] = data else { return 0 };
    let num_samples = run("AudioNumSamples", &attrs([]), [string(data)]).ok();
    let num_samples = num_samples.and_then(|outputs| outputs[0].integer_scalar("samples").ok()).unwrap_or(0);
    if num_samples > MOST_SAMPLES {
        return data.len();
    }
    let _ = run("AudioSampleRate", &attrs([]), [string(data)]);
    let rate = [0, 0, 16_000, 44_100][usize::from(option & 3)];
    let attributes = attrs([("sample_rate", Attr::Int(rate)), ("mono", Attr::Bool(option & 4 == 0))]);
    let whole = run("DecodeAudio", &attributes, [string(data)]);
    let decoded = whole.map(|outputs| outputs[0].num_bytes()).unwrap_or(0);
    let start = num_samples * i64::from(option >> 4) / 16;
    let part = [string(data), Tensor::scalar(start), Tensor::scalar((num_samples - start).min(1000))];
    let _ = run("AudioSlice", &attributes, part);
    data.len() + num_samples as usize * SAMPLE_BYTES + 3 * decoded
}
