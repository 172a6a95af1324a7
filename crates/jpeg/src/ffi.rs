//! Calls into `shim.c`, which are the only unsafe code in this crate.
#![allow(unsafe_code)]

use crate::{DecodeOptions, EncodeOptions, Error, Result, Window};
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::marker::PhantomData;
use std::ptr::{NonNull, null};
// Links libjpeg-turbo, which is only called from C.
use turbojpeg_sys as _;

const OK: c_int = 0;

/// The properties of a JPEG; see `shim.c`.
#[repr(C)]
#[derive(Default)]
pub struct Info {
    pub width: u32,
    pub height: u32,
    pub components: u32,
    pub is_cmyk: u32,
    pub has_adobe_marker: u32,
    pub has_run_out: u32,
    pub row_width: u32,
    pub num_rows: u32,
}

#[repr(C)]
struct Encoding {
    width: u32,
    height: u32,
    components: c_int,
    quality: c_int,
    is_progressive: c_int,
    is_optimized: c_int,
    is_chroma_downsampled: c_int,
    density_unit: u8,
    x_density: u16,
    y_density: u16,
    app1: *const u8,
    num_app1_bytes: u32,
}

#[repr(C)]
struct RawDecoder {
    _opaque: [u8; 0],
}

#[repr(C)]
struct RawEncoder {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn shim_open(
        data: *const u8,
        num_bytes: usize,
        max_scans: c_int,
        status: *mut c_int,
        info: *mut Info,
    ) -> *mut RawDecoder;
    fn shim_start(
        decoder: *mut RawDecoder,
        colours: c_int,
        ratio: c_uint,
        is_fancy: c_int,
        is_accurate: c_int,
        is_raw: c_int,
        info: *mut Info,
    ) -> c_int;
    fn shim_crop(decoder: *mut RawDecoder, x: u32, y: u32, width: u32, info: *mut Info) -> c_int;
    fn shim_read_rows(
        decoder: *mut RawDecoder,
        rows: *mut u8,
        row_bytes: usize,
        num_rows: u32,
        is_recovering: c_int,
        num_read: *mut u32,
    ) -> c_int;
    fn shim_finish(decoder: *mut RawDecoder, info: *mut Info) -> c_int;
    fn shim_message(decoder: *const RawDecoder) -> *const c_char;
    fn shim_close(decoder: *mut RawDecoder);
    fn shim_encode(
        pixels: *const u8,
        encoding: *const Encoding,
        status: *mut c_int,
        output: *mut *const u8,
        num_output_bytes: *mut usize,
    ) -> *mut RawEncoder;
    fn shim_encoder_message(encoder: *const RawEncoder) -> *const c_char;
    fn shim_close_encoder(encoder: *mut RawEncoder);
}

/// A decoder in C and the properties of its image.
pub struct Decoder<'a> {
    raw: NonNull<RawDecoder>,
    pub info: Info,
    /// The number of channels in the rows, or 0 before the start.
    channels: usize,
    /// The decoder in C reads from these bytes.
    _data: PhantomData<&'a [u8]>,
}

impl<'a> Decoder<'a> {
    pub fn open(data: &'a [u8], max_scans: u16) -> Result<Self> {
        let mut status = OK;
        let mut info = Info::default();
        // SAFETY: `data` outlives the decoder by its type; the other two outlive the call.
        let raw = unsafe { shim_open(data.as_ptr(), data.len(), max_scans.into(), &mut status, &mut info) };
        let raw = NonNull::new(raw).ok_or_else(|| Error("out of memory".to_owned()))?;
        let decoder = Self { raw, info, channels: 0, _data: PhantomData };
        decoder.check(status)?;
        Ok(decoder)
    }

    /// Prepares to read rows with 1 (grey), 3 (RGB) or 4 (inks) channels.
    pub fn start(&mut self, channels: usize, options: &DecodeOptions) -> Result<()> {
        // SAFETY: the decoder is open, by the type of `raw`, and `info` outlives the call.
        let status = unsafe {
            shim_start(
                self.raw.as_ptr(),
                channels as c_int,
                options.ratio.into(),
                options.is_fancy.into(),
                options.is_accurate.into(),
                options.is_raw.into(),
                &mut self.info,
            )
        };
        self.check(status)?;
        self.channels = channels;
        Ok(())
    }

    /// Restricts the rows to a window, which must be inside the image. The rows may begin further
    /// to the left.
    pub fn crop(&mut self, window: Window) -> Result<()> {
        let [x, y, width] = [window.x, window.y, window.width].map(|size| size as u32);
        // SAFETY: as for `shim_start`; libjpeg rejects a window that does not fit and a decoder
        // that has not started.
        let status = unsafe { shim_crop(self.raw.as_ptr(), x, y, width, &mut self.info) };
        self.check(status)
    }

    /// Reads rows of `row_bytes` until `rows` is full or the data ends. Returns the number of rows
    /// read.
    pub fn read_rows(&mut self, rows: &mut [u8], row_bytes: usize, is_recovering: bool) -> Result<usize> {
        assert!(self.channels > 0 && row_bytes >= self.info.row_width as usize * self.channels);
        let num_rows = (rows.len() / row_bytes) as u32;
        let mut num_read = 0;
        // SAFETY: the decoder is open; it writes `num_rows` rows of `row_width * channels` bytes,
        // which were checked to fit, each `row_bytes` after the other.
        let status = unsafe {
            shim_read_rows(
                self.raw.as_ptr(),
                rows.as_mut_ptr(),
                row_bytes,
                num_rows,
                is_recovering.into(),
                &mut num_read,
            )
        };
        self.check(status)?;
        Ok(num_read as usize)
    }

    /// Reads the data after the last row.
    pub fn finish(&mut self) -> Result<()> {
        // SAFETY: as for `shim_start`.
        let status = unsafe { shim_finish(self.raw.as_ptr(), &mut self.info) };
        self.check(status)
    }

    fn check(&self, status: c_int) -> Result<()> {
        if status == OK {
            return Ok(());
        }
        // SAFETY: the decoder is open; the message is a C string inside it, copied at once.
        Err(unsafe { to_error(shim_message(self.raw.as_ptr())) })
    }
}

impl Drop for Decoder<'_> {
    fn drop(&mut self) {
        // SAFETY: the decoder is open, and nobody can use it after this.
        unsafe { shim_close(self.raw.as_ptr()) }
    }
}

/// # Safety
///
/// `message` must point to a C string.
unsafe fn to_error(message: *const c_char) -> Error {
    // SAFETY: guaranteed by the caller.
    Error(unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned())
}

/// Encodes `width * height * components` bytes. The caller must have checked that there are as
/// many.
pub fn encode(pixels: &[u8], width: u32, height: u32, components: usize, options: &EncodeOptions) -> Result<Vec<u8>> {
    assert!(pixels.len() == width as usize * height as usize * components);
    let encoding = Encoding {
        width,
        height,
        components: components as c_int,
        quality: options.quality.into(),
        is_progressive: options.is_progressive.into(),
        is_optimized: options.is_optimized.into(),
        is_chroma_downsampled: options.is_chroma_downsampled.into(),
        density_unit: options.density.unit,
        x_density: options.density.x,
        y_density: options.density.y,
        app1: options.app1.as_ptr(),
        num_app1_bytes: options.app1.len() as u32,
    };
    let (mut status, mut output, mut num_output_bytes) = (OK, null(), 0);
    // SAFETY: all pointers outlive the call, and `pixels` has the size in `encoding`.
    let raw = unsafe { shim_encode(pixels.as_ptr(), &encoding, &mut status, &mut output, &mut num_output_bytes) };
    let raw = NonNull::new(raw).ok_or_else(|| Error("out of memory".to_owned()))?;
    // SAFETY: the encoder is open until it is closed here; its output and its message are copied
    // before that.
    unsafe {
        let result = match status {
            OK => Ok(std::slice::from_raw_parts(output, num_output_bytes).to_vec()),
            _ => Err(to_error(shim_encoder_message(raw.as_ptr()))),
        };
        shim_close_encoder(raw.as_ptr());
        result
    }
}
