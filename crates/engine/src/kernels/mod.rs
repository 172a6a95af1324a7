//! The kernels, in one module per family of operations, and the tables that look them up by
//! operation type.

pub mod array;
pub mod attrs;
pub mod audio;
pub mod augment;
pub mod control;
pub mod image;
pub mod math;
pub mod random;
pub mod readers;
pub mod records;
pub mod sparse;
pub mod strings;
pub mod summary;
pub mod testing;

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Tensors};
use crate::tensor::Tensor;
use attrs::Attrs;
use std::sync::Arc;

/// Creates the kernel for operations of type `op_type`. Returns `None` if the engine has none.
///
/// These kernels have no state. Kernels for a session's resources are in `crates/tf1`.
pub fn build(op_type: &str, attrs: &Attrs) -> Result<Option<Arc<dyn Kernel>>> {
    let rooms = [
        array::build,
        augment::build,
        audio::build,
        control::build,
        image::build,
        math::build,
        readers::build,
        records::build,
        sparse::build,
        strings::build,
        summary::build,
    ];
    for build in rooms {
        if let Some(kernel) = build(op_type, attrs)? {
            return Ok(Some(kernel));
        }
    }
    Ok(None)
}

/// Returns the inputs as an array. Fails unless there are exactly `N`.
pub fn expect_inputs<const N: usize>(inputs: &Tensors) -> Result<&[Tensor; N]> {
    let text = || Error::internal(format!("got {} inputs, expected {N}", inputs.len()));
    inputs.as_slice().try_into().map_err(|_| text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_looked_up_by_name() {
        assert!(build("Add", &Attrs::default()).unwrap().is_some());
        assert!(build("Bogus", &Attrs::default()).unwrap().is_none());
        let error = build("Cast", &Attrs::default()).map(drop).unwrap_err();
        assert_eq!(format!("{error:?}"), "Internal: attribute 'DstT' is missing");
    }

    #[test]
    fn number_of_inputs_is_checked() {
        let error = expect_inputs::<2>(&Tensors::new()).unwrap_err();
        assert_eq!(format!("{error:?}"), "Internal: got 0 inputs, expected 2");
    }
}
