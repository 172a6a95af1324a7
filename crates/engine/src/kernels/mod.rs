//! The kernels, in one module for each family of operations, and the tables that find them by the
//! type of an operation.

pub mod array;
pub mod attrs;
pub mod audio;
pub mod augment;
pub mod control;
pub mod image;
pub mod lookup;
pub mod math;
pub mod queues;
pub mod random;
pub mod readers;
pub mod records;
pub mod sparse;
pub mod strings;
pub mod summary;
pub mod variables;

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Tensors};
use crate::tensor::Tensor;
use attrs::Attrs;
use std::sync::Arc;

/// The kernel for operations of type `op_type`, or `None` if the engine has none.
///
/// These kernels have no state; kernels for a session's resources are built elsewhere.
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

/// The inputs as an array. Fails if there are not `N` of them.
pub(crate) fn expect_inputs<const N: usize>(inputs: &Tensors) -> Result<&[Tensor; N]> {
    let text = || Error::internal(format!("{} inputs given, expected {N}", inputs.len()));
    inputs.as_slice().try_into().map_err(|_| text())
}

#[cfg(test)]
pub(crate) mod testing {
    //! Runs one kernel in a test.

    use super::attrs::{Attr, Attrs};
    use crate::error::{Error, Result};
    use crate::kernel::{Kernel, Step};
    use crate::run::Run;
    use crate::sync::cancellation::Cancellation;
    use crate::tensor::Tensor;

    pub fn attrs<const N: usize>(items: [(&str, Attr); N]) -> Attrs {
        let mut attrs = Attrs::default();
        items.into_iter().for_each(|(name, value)| attrs.insert(name, value));
        attrs
    }

    pub fn run(kernel: &dyn Kernel, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        match kernel.run(&Run::new(&Cancellation::new()), inputs.iter().cloned().collect())? {
            Step::Done(outputs) => Ok(outputs.into_vec()),
            Step::Pending(_) => Err(Error::internal("the kernel waits")),
        }
    }

    pub fn run_one(kernel: &dyn Kernel, inputs: &[Tensor]) -> Result<Tensor> {
        let mut outputs = run(kernel, inputs)?;
        assert_eq!(outputs.len(), 1);
        outputs.pop().ok_or_else(|| Error::internal("no output"))
    }

    pub fn error_text(kernel: &dyn Kernel, inputs: &[Tensor]) -> String {
        format!("{:?}", run(kernel, inputs).unwrap_err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_by_name_and_unknown_ones_are_not() {
        assert!(build("Add", &Attrs::default()).unwrap().is_some());
        assert!(build("Bogus", &Attrs::default()).unwrap().is_none());
        let error = build("Cast", &Attrs::default()).map(drop).unwrap_err();
        assert_eq!(format!("{error:?}"), "Internal: attribute 'DstT' is missing");
    }

    #[test]
    fn the_number_of_inputs_is_checked() {
        let error = expect_inputs::<2>(&Tensors::new()).unwrap_err();
        assert_eq!(format!("{error:?}"), "Internal: 0 inputs given, expected 2");
    }
}
