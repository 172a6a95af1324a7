//! Writes a chunk.

use crate::error::Result;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;

/// The bytes of a chunk so far. Numbers are variable-length integers, as in protocol buffers. Data
/// of variable length follows its length. The numbers of a tensor are stored as in memory.
#[derive(Default)]
pub struct Content(Vec<u8>);

impl Content {
    /// Adds a number.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// Adds a bool.
    pub fn flag(&mut self, flag: bool) {
        self.number(u64::from(flag));
    }

    /// Adds the length of some bytes, then the bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Adds a tensor: its dtype, its rank, its dimensions and its elements. Fails if there is no
    /// memory for it.
    pub fn tensor(&mut self, tensor: &Tensor) -> Result<()> {
        tensor.materialise()?;
        let num_bytes = match tensor.dtype() {
            DType::String => tensor.num_bytes(),
            dtype => tensor.num_elements() * dtype.size(),
        };
        allocate::grow(&mut self.0, num_bytes).map_err(|refusal| refusal.of_tensor(tensor.dtype(), tensor.shape()))?;
        self.number(tensor.dtype() as u64);
        self.number(tensor.shape().len() as u64);
        tensor.shape().iter().for_each(|dim| self.number(*dim as u64));
        match tensor.dtype() {
            DType::String => tensor.string_values().iter().for_each(|string| self.bytes(string)),
            _ => self.0.extend_from_slice(tensor.bytes()),
        }
        Ok(())
    }

    /// The length of the chunk.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if nothing was added.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The chunk.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
