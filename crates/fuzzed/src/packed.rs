//! Files as they are compressed: by us, so that what is made up reaches the parser, or as they were made up.

use bzip2::read::BzEncoder;
use headrace_engine::files::compression::{Compression, Deflate};
use headrace_engine::files::content::content;
use headrace_engine::pipeline::formats::{Codec, uncompressed};
use liblzma::read::XzEncoder;
use lz4_flex::frame::FrameEncoder;
use std::io::{self, Read, Write};

/// Larger files take too long.
const MOST_BYTES: u64 = 1 << 20;

/// A file, and how to read it.
pub struct Packed {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// How it is compressed.
    pub codec: Codec,
    /// How many bytes it has uncompressed.
    pub num_bytes: usize,
}

const CODECS: [Codec; 8] = [
    Codec::Known(Compression::None),
    Codec::Known(Compression::Gzip),
    Codec::Known(Compression::Zlib),
    Codec::Zstd,
    Codec::Bzip2,
    Codec::ByContent,
    Codec::Xz,
    Codec::Lz4,
];

impl Packed {
    /// A file of these bytes, or one that is these bytes when it is uncompressed, as the option says. Nothing if it is too
    /// large.
    pub fn new(option: u8, data: Vec<u8>) -> Option<Self> {
        let option = usize::from(option);
        let codec = CODECS[option % CODECS.len()];
        // What is told by its content may be compressed as it is.
        if codec != Codec::ByContent && (option / CODECS.len()).is_multiple_of(2) {
            let num_bytes = data.len();
            let bytes = compressed(codec, data).ok()?;
            return Some(Self { bytes, codec, num_bytes });
        }
        let num_bytes = uncompressed_bytes(codec, &data);
        (num_bytes < MOST_BYTES).then(|| Self { num_bytes: data.len() + num_bytes as usize, bytes: data, codec })
    }

    /// How readers of TensorFlow's operations are told the same; `None` if they cannot read it.
    pub fn compression(&self) -> Option<Compression> {
        match self.codec {
            Codec::Known(compression) => Some(compression),
            _ => None,
        }
    }
}

fn compressed(codec: Codec, data: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match codec {
        Codec::Known(compression) if compression != Compression::None => {
            let mut output = Deflate::new(&mut bytes, compression, Some(1)).map_err(io::Error::other)?;
            output.write_all(&data)?;
            output.finish()?;
        }
        Codec::Zstd => return zstd::encode_all(&data[..], 1),
        Codec::Bzip2 => {
            BzEncoder::new(&data[..], bzip2::Compression::fast()).read_to_end(&mut bytes)?;
        }
        Codec::Xz => {
            XzEncoder::new(&data[..], 0).read_to_end(&mut bytes)?;
        }
        Codec::Lz4 => {
            let mut output = FrameEncoder::new(&mut bytes);
            output.write_all(&data)?;
            output.finish()?;
        }
        _ => return Ok(data),
    }
    Ok(bytes)
}

/// `[compression, data...]`: data that are decompressed to their end, or refused.
pub fn compressed_data(data: &[u8]) -> usize {
    let [option, data @ ..] = data else { return 0 };
    let _ = content(data);
    data.len() + uncompressed_bytes(CODECS[usize::from(*option) % CODECS.len()], data) as usize
}

/// How many bytes there are before the end, or the first error.
fn uncompressed_bytes(codec: Codec, data: &[u8]) -> u64 {
    let Ok(mut input) = uncompressed(codec, data) else { return 0 };
    let (mut total, mut buffer) = (0, [0; 8192]);
    while total < MOST_BYTES
        && let Ok(count @ 1..) = input.read(&mut buffer)
    {
        total += count as u64;
    }
    total
}
