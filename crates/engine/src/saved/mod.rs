//! Saves the contents of a session's resources as bytes: queues, readers, variables, random
//! generators, tables, staging areas, barriers.
//!
//! Each resource becomes one or more chunks of bytes; a large queue becomes many. Restoring has two
//! steps. The first reads all chunks, opens files and may fail. The second replaces the contents of
//! the resources and cannot fail. So either all resources of a session are restored or none.

mod content;

pub use content::Content;

use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use crate::wire::Cursor;
use bytes::Bytes;

/// The chunks of a resource, which are created one after the other.
pub type Chunks = Box<dyn Iterator<Item = Result<Vec<u8>>> + Send>;

/// The second step of restoring a resource.
pub type Restore = Box<dyn FnOnce() + Send>;

/// Chunks to restore from.
pub type SavedChunks<'a> = &'a mut dyn Iterator<Item = Result<Vec<u8>>>;

/// Returns the content of a resource as a single chunk.
pub fn one(content: Content) -> Chunks {
    Box::new(std::iter::once(Ok(content.into_bytes())))
}

/// Returns the only chunk of a resource.
pub fn only(chunks: SavedChunks) -> Result<Vec<u8>> {
    let chunk = chunks.next().ok_or_else(damaged)??;
    chunks.next().map_or(Ok(chunk), |_| Err(damaged()))
}

/// The error for bytes that a resource cannot have written.
pub fn damaged() -> Error {
    Error::data_loss("the saved state is damaged: it was cut short or edited")
}

/// Reads a chunk. It is not trusted: claimed lengths are checked against its size.
pub struct Reading<'a>(Cursor<'a>);

impl<'a> Reading<'a> {
    /// Starts at the beginning of a chunk.
    pub fn new(chunk: &'a [u8]) -> Self {
        Self(Cursor::new(chunk))
    }

    /// Returns true once the whole chunk has been read.
    pub fn is_at_end(&self) -> bool {
        self.0.is_at_end()
    }

    /// Fails unless the whole chunk has been read.
    pub fn end(&self) -> Result<()> {
        if self.is_at_end() { Ok(()) } else { Err(damaged()) }
    }

    /// A number.
    pub fn number(&mut self) -> Result<u64> {
        self.0.varint().ok_or_else(damaged)
    }

    /// Reads a number as a size.
    pub fn size(&mut self) -> Result<usize> {
        self.number().and_then(|number| usize::try_from(number).map_err(|_| damaged()))
    }

    /// A bool.
    pub fn flag(&mut self) -> Result<bool> {
        match self.number()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(damaged()),
        }
    }

    /// Some bytes.
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        self.0.delimited().ok_or_else(damaged)
    }

    /// A tensor.
    pub fn tensor(&mut self) -> Result<Tensor> {
        let dtype = u8::try_from(self.number()?).ok().and_then(|code| DType::from_code(code).ok());
        let dtype = dtype.ok_or_else(damaged)?;
        let rank = self.size()?;
        let dims = (0..rank).map(|_| self.size()).collect::<Result<Vec<_>>>()?;
        let shape = Shape::new(&dims);
        let count = shape.checked_num_elements().map_err(|_| damaged())?;
        match dtype {
            DType::String => self.strings(shape, count),
            _ => self.numbers(dtype, shape, count),
        }
    }

    fn numbers(&mut self, dtype: DType, shape: Shape, count: usize) -> Result<Tensor> {
        let num_bytes = count.checked_mul(dtype.size()).ok_or_else(damaged)?;
        let bytes = self.0.take(num_bytes).ok_or_else(damaged)?;
        if dtype == DType::Bool && bytes.iter().any(|byte| *byte > 1) {
            return Err(damaged());
        }
        Tensor::copied(dtype, shape, bytes)
    }

    fn strings(&mut self, shape: Shape, count: usize) -> Result<Tensor> {
        // A string takes at least one byte.
        if count > self.0.num_left() {
            return Err(damaged());
        }
        let mut strings = allocate::elements(DType::String, &shape).room()?;
        for _ in 0..count {
            strings.push(Bytes::copy_from_slice(self.bytes()?));
        }
        Tensor::strings(shape, strings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tensors() -> Vec<Tensor> {
        vec![
            Tensor::scalar(-7_i64),
            Tensor::bool(true),
            Tensor::string("text"),
            Tensor::from_values(Shape::new(&[2, 3]), vec![1.5_f32; 6]).unwrap(),
            Tensor::from_values(Shape::new(&[0, 3]), Vec::<f64>::new()).unwrap(),
            Tensor::strings(Shape::new(&[2]), vec![Bytes::new(), Bytes::from_static(b"\0a")]).unwrap(),
        ]
    }

    fn chunk() -> Vec<u8> {
        let mut content = Content::default();
        content.number(300);
        content.flag(true);
        content.bytes(b"bytes");
        tensors().iter().for_each(|tensor| content.tensor(tensor).unwrap());
        content.into_bytes()
    }

    fn read(chunk: &[u8]) -> Result<Vec<Tensor>> {
        let mut reading = Reading::new(chunk);
        reading.number()?;
        reading.flag()?;
        reading.bytes()?;
        let tensors = (0..6).map(|_| reading.tensor()).collect::<Result<_>>()?;
        reading.end()?;
        Ok(tensors)
    }

    #[test]
    fn chunk_of_tensors_round_trips() {
        assert_eq!(read(&chunk()).unwrap(), tensors());
    }

    #[test]
    fn truncated_chunk_is_rejected() {
        let chunk = chunk();
        for length in 0..chunk.len() {
            assert!(read(&chunk[..length]).is_err(), "{length}");
        }
        assert!(read(&[&chunk[..], b"x"].concat()).is_err());
    }

    #[test]
    fn claimed_sizes_are_checked_before_memory_is_allocated() {
        let huge = |dtype: DType| {
            let mut content = Content::default();
            [dtype as u64, 2, 1 << 40, 1 << 20].iter().for_each(|number| content.number(*number));
            content.into_bytes()
        };
        for dtype in [DType::String, DType::Float64, DType::Bool] {
            assert!(Reading::new(&huge(dtype)).tensor().is_err());
        }
        let mut rank = Content::default();
        [DType::Int8 as u64, u64::MAX].iter().for_each(|number| rank.number(*number));
        assert!(Reading::new(&rank.into_bytes()).tensor().is_err());
        let mut truth = Content::default();
        [DType::Bool as u64, 0, 2].iter().for_each(|number| truth.number(*number));
        assert!(Reading::new(&truth.into_bytes()).tensor().is_err());
    }

    proptest! {
        #[test]
        fn reading_arbitrary_bytes_never_panics(position: usize, byte: u8) {
            let mut chunk = chunk();
            let position = position % chunk.len();
            chunk[position] = byte;
            // No tensor claims more elements than there are bytes.
            for tensor in read(&chunk).unwrap_or_default() {
                prop_assert!(tensor.num_elements() <= chunk.len());
            }
        }
    }
}
