//! Variables: named tensors that belong to a session and change.

use crate::error::{Error, Result};
use crate::sync::Mutex;
use crate::tensor::Tensor;

/// A tensor that can be replaced; without a value until it is first assigned.
pub struct Variable {
    name: String,
    /// Locked while an update computes the new value, so that updates do not overlap.
    value: Mutex<Option<Tensor>>,
}

impl Variable {
    /// A variable without a value.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), value: Mutex::new(None) }
    }

    /// Whether it has a value.
    pub fn is_initialized(&self) -> bool {
        self.value.lock().is_some()
    }

    /// The value, if there is one.
    pub fn get(&self) -> Option<Tensor> {
        self.value.lock().clone()
    }

    /// The value. Fails with `FailedPrecondition` if there is none.
    pub fn read(&self) -> Result<Tensor> {
        self.get().ok_or_else(|| self.uninitialized())
    }

    /// Replaces the value. With `same_shape`, fails if there is a value of another shape.
    pub fn assign(&self, mut value: Tensor, same_shape: bool) -> Result<()> {
        value.unshare();
        let mut current = self.value.lock();
        if let Some(current) = current.as_ref().filter(|current| same_shape && current.shape() != value.shape()) {
            return Err(Error::invalid_argument(format!(
                "Assign requires shapes of both tensors to match. lhs shape= {} rhs shape= {}",
                current.shape(),
                value.shape()
            )));
        }
        *current = Some(value);
        Ok(())
    }

    /// Replaces the value by what `change` makes of it, with no other update in between, and returns what
    /// `change` returns beside it.
    pub fn update<T>(&self, change: impl FnOnce(&Tensor) -> Result<(Tensor, T)>) -> Result<T> {
        let mut current = self.value.lock();
        let (mut value, result) = change(current.as_ref().ok_or_else(|| self.uninitialized())?)?;
        value.unshare();
        *current = Some(value);
        Ok(result)
    }

    fn uninitialized(&self) -> Error {
        Error::failed_precondition(format!("Attempting to use uninitialized value {}", self.name))
    }
}
