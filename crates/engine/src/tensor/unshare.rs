//! Copies small tensors, so that long-lived ones don't keep larger memory alive.

use super::{Data, Tensor};
use crate::tensor::aliasing::{unshare, unshare_all};
use std::sync::Arc;

impl Tensor {
    /// Copies small elements that may be in a larger buffer, so that this tensor keeps at most
    /// about twice its own bytes alive.
    pub fn unshare(&mut self) {
        match &mut self.data {
            Data::Inline(_) => {}
            Data::Buffer(memory) => memory.unshare(),
            Data::Deferred(deferred) => {
                if deferred.source().1.is_to_unshare() {
                    Arc::make_mut(deferred).unshare();
                }
            }
            Data::String(value) => unshare(value),
            Data::Strings(values) => {
                // Strings that others also hold are not changed.
                unshare_all(Arc::<Vec<_>>::make_mut(values));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::math::cast::cast;
    use crate::tensor::dtype::DType;
    use crate::tensor::shape::Shape;
    use bytes::Bytes;

    /// Returns bytes in a larger buffer, and the buffer, which is unique once no part of it is
    /// kept.
    fn part(length: usize) -> (Bytes, Bytes) {
        let whole = Bytes::from(vec![7; 10_000]);
        (whole.slice(8..8 + length), whole)
    }

    fn unshared(mut tensor: Tensor) -> Tensor {
        tensor.unshare();
        tensor
    }

    #[test]
    fn short_strings_are_copied() {
        let (string, whole) = part(5);
        let scalar = unshared(Tensor::string(string.clone()));
        let vector = Tensor::strings(Shape::new(&[2]), vec![string.clone(), string]).unwrap();
        let copy = unshared(vector.clone());
        assert_eq!(copy, vector);
        drop(vector);
        assert!(whole.is_unique());
        assert_eq!(scalar.string_values()[0], &[7; 5][..]);
    }

    #[test]
    fn numbers_built_from_short_strings_are_copied() {
        let (string, whole) = part(800);
        let pixels = Tensor::from_string(DType::UInt8, Shape::new(&[800]), string).unwrap();
        let floats = cast(&pixels, DType::Float32).unwrap();
        assert!(floats.is_deferred());
        let copies = [unshared(pixels.clone()), unshared(floats.clone())];
        assert!(copies[1].is_deferred());
        assert_eq!(copies, [pixels, floats]);
        assert!(whole.is_unique());
    }

    #[test]
    fn large_strings_are_moved_without_a_copy() {
        let (string, whole) = part(2_000);
        let pixels = Tensor::from_string(DType::UInt8, Shape::new(&[2_000]), string).unwrap();
        assert_eq!(unshared(pixels).bytes().as_ptr(), whole[8..].as_ptr());
    }
}
