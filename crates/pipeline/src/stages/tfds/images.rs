//! Decodes the images of features.

use super::column;
use super::stored::shown;
use crate::blocks::block::{Block, Provenance};
use crate::blocks::column::Column;
use crate::blocks::rows::Rows;
use crate::stages::{Stage, text};
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::kernels::attrs::{Attr, Attrs};
use headrace_engine::kernels::image::Decode;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;

/// Replaces columns of encoded images with their pixels.
pub struct DecodeImages(pub Vec<ImageFeature>);

/// A column of images, or of sequences of images.
pub struct ImageFeature {
    name: String,
    column: usize,
    decode: Decode,
    /// The shape of one image.
    shape: Vec<Option<usize>>,
    is_sequence: bool,
    /// True if the four channels of a pixel are the bytes of a float.
    is_float: bool,
}

impl ImageFeature {
    /// Decodes the column at this index to pixels of this shape and dtype.
    pub fn new(
        name: String,
        column: usize,
        shape: Vec<Option<usize>>,
        dtype: DType,
        is_sequence: bool,
    ) -> Result<Self> {
        let is_float = dtype == DType::Float32;
        let channels = if is_float { 4 } else { shape.last().copied().flatten().unwrap_or(0) };
        let mut attrs = Attrs::default();
        attrs.insert("channels", Attr::Int(channels as i64));
        attrs.insert("dtype", Attr::DType(if is_float { DType::UInt8 } else { dtype }));
        // As in TFDS, an animation has an axis for its frames, which its shape must allow.
        attrs.insert("expand_animations", Attr::Bool(true));
        attrs.insert("for_pipeline", Attr::Bool(true));
        let decode = Decode::from_attrs("DecodeImage", &attrs)?;
        Ok(Self { name, column, decode, shape, is_sequence, is_float })
    }

    fn decoded(&self, images: &[Bytes]) -> Result<Tensor> {
        if !self.is_sequence {
            let [image] = images else { return Err(Error::internal("an image has no contents")) };
            return self.pixels(image);
        }
        let images = images.iter().map(|image| self.pixels(image)).collect::<Result<Vec<_>>>()?;
        let Some(first) = images.first() else {
            let shape = self.shape.iter().map(|size| size.unwrap_or(0)).collect::<Shape>().batched(0);
            return Tensor::empty(if self.is_float { DType::Float32 } else { self.dtype() }, shape);
        };
        if let Some(other) = images.iter().find(|image| image.shape() != first.shape()) {
            return Err(Error::invalid_argument(format!(
                "'{}' has images of shape {} and {}, expected one shape. Leave it out of decode, and decode it in map",
                self.name,
                first.shape(),
                other.shape()
            )));
        }
        Tensor::stack_padded(first.dtype(), first.shape(), images.iter(), None)
    }

    fn dtype(&self) -> DType {
        self.decode.dtype()
    }

    fn pixels(&self, image: &[u8]) -> Result<Tensor> {
        let named = |error: Error| Error::new(error.code(), format!("'{}': {}", self.name, error.message()));
        let mut pixels = self.decode.decode(image, None).map_err(named)?;
        if self.is_float {
            let shape = pixels.shape().clone();
            let [height, width, 4] = shape[..] else {
                return Err(Error::invalid_argument(format!("'{}' is not one image of floats", self.name)));
            };
            let bytes = allocate::copied(pixels.stored()?).map_err(|refusal| refusal.at(&self.name))?;
            pixels = Tensor::from_bytes(DType::Float32, Shape::new(&[height, width, 1]), bytes)?;
        }
        let is_alike = |(size, expected): (&usize, &Option<usize>)| expected.is_none_or(|expected| expected == *size);
        let fits = pixels.shape().len() == self.shape.len() && pixels.shape().iter().zip(&self.shape).all(is_alike);
        match fits {
            true => Ok(pixels),
            false => Err(Error::invalid_argument(format!(
                "'{}' is an image of shape {}, expected {} according to features.json. Leave it out of decode, and \
                 decode it in map",
                self.name,
                pixels.shape(),
                shown(&self.shape)
            ))),
        }
    }

    fn column(&self, columns: &[Column], rows: &Rows) -> Result<Column> {
        let images = column(columns, self.column)?;
        let decoded = |row| {
            let of_row = images.row(row)?;
            self.decoded(of_row.string_values()).map_err(|error| text::at(rows, row, &error))
        };
        (0..images.len()).map(decoded).collect::<Result<Vec<_>>>().map(|images| Column::Each(images.into()))
    }
}

impl Stage for DecodeImages {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let block = rows.gather()?;
        let mut columns = block.columns.clone();
        for image in &self.0 {
            let decoded = image.column(&block.columns, &rows)?;
            *columns
                .get_mut(image.column)
                .ok_or_else(|| Error::internal(format!("image column {} does not exist", image.column)))? = decoded;
        }
        Block::new(columns, rows.len(), Provenance::of(rows)).map(Rows::all)
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}
