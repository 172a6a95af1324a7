//! A safe interface to libjpeg-turbo, with the options that TensorFlow's decoder and encoder use.
//!
//! [`Decoder::new`] reads the header, so that the caller can check the size of an image before
//! memory is allocated for it. [`Decoder::decode`] returns the pixels. Any invalid data leads to an
//! [`Error`].

mod ffi;

use std::fmt;

/// Why an image could not be decoded or encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// Returns true if the image is valid but there was not enough memory.
    pub fn is_out_of_memory(&self) -> bool {
        self.0 == OUT_OF_MEMORY || self.0.starts_with("Insufficient memory") // libjpeg's message.
    }
}

/// The message if there is not enough memory for the pixels.
const OUT_OF_MEMORY: &str = "out of memory";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The colours of decoded pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// One channel, where 0 is black. For colour images this is the stored luma.
    Grey,
    /// Three channels. CMYK is converted to RGB as in TensorFlow, without a colour profile.
    Rgb,
    /// Four channels: cyan, magenta, yellow and black, where 255 is full ink. Only for images that
    /// have inks.
    Inks,
    /// This many channels as they are stored, whatever they mean.
    Stored(u8),
}

impl Colours {
    /// The number of bytes per pixel.
    pub fn channels(self) -> usize {
        match self {
            Self::Grey => 1,
            Self::Rgb => 3,
            Self::Inks => 4,
            Self::Stored(channels) => channels.into(),
        }
    }
}

/// A part of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first column.
    pub x: usize,
    /// The first row.
    pub y: usize,
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// Options for decoding.
#[derive(Clone, Copy, Debug)]
pub struct DecodeOptions {
    /// `None` for the stored colours. Grey stays grey.
    pub colours: Option<Colours>,
    /// Reduces the size by a factor of 1, 2, 4 or 8, rounding up.
    pub ratio: u8,
    /// Interpolates between chroma samples instead of repeating them.
    pub is_fancy: bool,
    /// Uses the accurate integer transform instead of the fast one.
    pub is_accurate: bool,
    /// Fills in the missing part of a truncated file.
    pub is_recovering: bool,
    /// Leaves the stored components as they are, whatever they mean. `colours` must be `None`.
    pub is_raw: bool,
    /// The window of the scaled image to decode, or `None` for the whole image.
    pub window: Option<Window>,
}

/// 8-bit pixels, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The number of bytes per pixel.
    pub channels: usize,
    /// Row by row, with the channels of a pixel next to each other.
    pub pixels: Vec<u8>,
    /// The number of rows in the file. All later rows are 0.
    pub num_rows_read: usize,
    /// True if the file is complete. This isn't checked if there is a window.
    pub is_complete: bool,
}

/// A JPEG whose header has been read.
pub struct Decoder<'a> {
    raw: ffi::Decoder<'a>,
}

impl<'a> Decoder<'a> {
    /// Reads the header. Decoding will fail after `max_scans` scans, each of which covers the whole
    /// image.
    pub fn new(data: &'a [u8], max_scans: u16) -> Result<Self> {
        Ok(Self { raw: ffi::Decoder::open(data, max_scans)? })
    }

    /// The width in pixels, according to the header.
    pub fn width(&self) -> usize {
        self.raw.info.width as usize
    }

    /// The height in pixels, according to the header.
    pub fn height(&self) -> usize {
        self.raw.info.height as usize
    }

    /// The number of stored components: 1 for grey, 3 for colours, 4 for CMYK.
    pub fn num_components(&self) -> usize {
        self.raw.info.components as usize
    }

    /// Returns true if the stored colours are inks (CMYK or YCCK).
    pub fn has_inks(&self) -> bool {
        self.raw.info.is_cmyk != 0
    }

    /// Decodes the pixels. `zeros` allocates this many zero bytes, or returns `None` if there is
    /// not enough memory.
    pub fn decode(mut self, options: &DecodeOptions, zeros: impl Fn(usize) -> Option<Vec<u8>>) -> Result<Image> {
        let zeros = |length| zeros(length).ok_or_else(|| Error(OUT_OF_MEMORY.to_owned()));
        if !matches!(options.ratio, 1 | 2 | 4 | 8) {
            return Err(Error(format!("ratio is {}, expected 1, 2, 4 or 8", options.ratio)));
        }
        let colours = match (options.colours, self.num_components()) {
            (Some(colours), _) => colours,
            (None, 1) => Colours::Grey,
            (None, 4) if options.is_raw => Colours::Inks,
            (None, 3 | 4) => Colours::Rgb,
            (None, components) if options.is_raw => Colours::Stored(u8::try_from(components).unwrap_or(u8::MAX)),
            (None, components) => return Err(Error(format!("got {components} components, expected 1, 3 or 4"))),
        };
        let from_inks = colours == Colours::Rgb && self.has_inks() && !options.is_raw;
        let channels_read = if from_inks { 4 } else { colours.channels() };
        self.raw.start(channels_read, options)?;
        if self.raw.info.has_run_out != 0 && !options.is_recovering {
            return Err(Error("the data ends before the last scan".to_owned()));
        }
        let whole = (self.raw.info.row_width as usize, self.raw.info.num_rows as usize);
        let window = options.window.unwrap_or(Window { x: 0, y: 0, width: whole.0, height: whole.1 });
        check_window(window, whole)?;
        if options.window.is_some() {
            self.raw.crop(window)?;
        }
        let row_bytes = window.width * colours.channels();
        let mut pixels = zeros(row_bytes * window.height)?;
        let row_width = self.raw.info.row_width as usize;
        let num_rows_read = if !from_inks && row_width == window.width {
            self.raw.read_rows(&mut pixels, row_bytes, options.is_recovering)?
        } else {
            // If rows begin further to the left or contain CMYK, they are first read into a buffer.
            let mut row = zeros(row_width * channels_read)?;
            let skipped = row_width.saturating_sub(window.width) * channels_read;
            let length = row.len();
            let mut num_rows_read = 0;
            for target in pixels.chunks_exact_mut(row_bytes) {
                if self.raw.read_rows(&mut row, length, options.is_recovering)? == 0 {
                    break;
                }
                let row = &row[skipped..];
                match from_inks {
                    true => inks_to_rgb(row, target, self.raw.info.has_adobe_marker != 0),
                    false => target.copy_from_slice(row),
                }
                num_rows_read += 1;
            }
            num_rows_read
        };
        if colours == Colours::Inks && self.raw.info.has_adobe_marker != 0 && !options.is_raw {
            pixels.iter_mut().for_each(|ink| *ink = 255 - *ink);
        }
        pixels[num_rows_read * row_bytes..].fill(if colours == Colours::Inks { 255 } else { 0 });
        let mut is_complete = num_rows_read == window.height;
        if options.window.is_none() && is_complete {
            self.raw.finish()?;
            is_complete = self.raw.info.has_run_out == 0;
        }
        let (width, height, channels) = (window.width, window.height, colours.channels());
        Ok(Image { width, height, channels, pixels, num_rows_read, is_complete })
    }
}

fn check_window(window: Window, (width, height): (usize, usize)) -> Result<()> {
    let fits = |start: usize, length: usize, size: usize| {
        length > 0 && start.checked_add(length).is_some_and(|end| end <= size)
    };
    match fits(window.x, window.width, width) && fits(window.y, window.height, height) {
        true => Ok(()),
        false => Err(Error(format!(
            "the crop window of {}x{} at ({}, {}) is outside the image of {height}x{width}",
            window.height, window.width, window.y, window.x
        ))),
    }
}

/// Converts CMYK to RGB. Photoshop stores inverted CMYK, which it indicates with an Adobe marker.
fn inks_to_rgb(inks: &[u8], rgb: &mut [u8], is_inverted: bool) {
    let light = |ink: u8| if is_inverted { u16::from(ink) } else { 255 - u16::from(ink) };
    for ([c, m, y, k], target) in inks.as_chunks::<4>().0.iter().zip(rgb.as_chunks_mut::<3>().0) {
        *target = [*c, *m, *y].map(|ink| (light(*k) * light(ink) / 255) as u8);
    }
}

/// Options for encoding.
#[derive(Clone, Debug)]
pub struct EncodeOptions {
    /// 0 to 100.
    pub quality: u8,
    /// True to write a progressive file.
    pub is_progressive: bool,
    /// Spends more time to produce a smaller file.
    pub is_optimized: bool,
    /// Stores chroma at half the resolution (4:2:0).
    pub is_chroma_downsampled: bool,
    /// The number of pixels per inch or centimetre.
    pub density: Density,
    /// The contents of an APP1 marker. Empty if there should be none.
    pub app1: Vec<u8>,
}

/// The resolution stated in the header.
#[derive(Clone, Copy, Debug)]
pub struct Density {
    /// 0 for an aspect ratio, 1 for dots per inch, 2 for dots per centimetre.
    pub unit: u8,
    /// Pixels in a row.
    pub x: u16,
    /// The vertical density.
    pub y: u16,
}

/// Encodes 8-bit grey or RGB pixels, row by row.
pub fn encode(
    pixels: &[u8],
    width: usize,
    height: usize,
    colours: Colours,
    options: &EncodeOptions,
) -> Result<Vec<u8>> {
    const MAX_SIZE: usize = 65_500; // libjpeg's own limit.
    if !(1..=MAX_SIZE).contains(&width) || !(1..=MAX_SIZE).contains(&height) {
        return Err(Error(format!(
            "the image has {height}x{width} pixels, expected 1 to {MAX_SIZE} in each direction"
        )));
    }
    let expected = width * height * colours.channels();
    if pixels.len() != expected {
        return Err(Error(format!("got {} bytes of pixels, expected {expected}", pixels.len())));
    }
    if options.app1.len() > 65_533 {
        return Err(Error(format!("got {} bytes of metadata, expected at most 65533", options.app1.len())));
    }
    ffi::encode(pixels, width as u32, height as u32, colours.channels(), options)
}

#[cfg(test)]
mod tests;
