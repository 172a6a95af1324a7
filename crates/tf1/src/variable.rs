//! Variables: named tensors of a session that can be changed.

use headrace_engine::error::{Error, Result};
use headrace_engine::saved::{self, Chunks, Content, Reading, Restore, SavedChunks};
use headrace_engine::sync::Mutex;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use std::sync::Arc;

/// A tensor that can be replaced. It has no value until it is first assigned.
pub struct Variable {
    name: String,
    /// Locked while an update computes the new value, so that updates don't overlap.
    value: Mutex<Option<Tensor>>,
}

impl Variable {
    /// Creates a variable without a value.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), value: Mutex::new(None) }
    }

    /// Returns true if it has a value.
    pub fn is_initialized(&self) -> bool {
        self.value.lock().is_some()
    }

    /// The value, if there is one.
    pub fn get(&self) -> Option<Tensor> {
        self.value.lock().clone()
    }

    /// Returns the value. Fails with `FailedPrecondition` if there is none.
    pub fn read(&self) -> Result<Tensor> {
        self.get().ok_or_else(|| self.uninitialized())
    }

    /// Replaces the value. If `same_shape`, fails if there is a value with a different shape.
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

    /// Replaces the value with the first result of `change`, without any other update in between,
    /// and returns the second.
    pub fn update<T>(&self, change: impl FnOnce(&Tensor) -> Result<(Tensor, T)>) -> Result<T> {
        let mut current = self.value.lock();
        let (mut value, result) = change(current.as_ref().ok_or_else(|| self.uninitialized())?)?;
        value.unshare();
        *current = Some(value);
        Ok(result)
    }

    /// Saves the value, or the fact that there is none; see [`headrace_engine::saved`].
    pub fn save(&self) -> Result<Chunks> {
        let mut content = Content::default();
        let value = self.get();
        content.flag(value.is_some());
        if let Some(value) = value {
            content.tensor(&value)?;
        }
        Ok(saved::one(content))
    }

    /// Replaces the value with the saved one, which must have dtype `dtype`.
    pub fn prepare(self: &Arc<Self>, chunks: SavedChunks, dtype: DType) -> Result<Restore> {
        let chunk = saved::only(chunks)?;
        let mut reading = Reading::new(&chunk);
        let value = if reading.flag()? { Some(reading.tensor()?) } else { None };
        reading.end()?;
        if value.as_ref().is_some_and(|value| value.dtype() != dtype) {
            return Err(saved::damaged());
        }
        let variable = Arc::clone(self);
        Ok(Box::new(move || *variable.value.lock() = value))
    }

    fn uninitialized(&self) -> Error {
        Error::failed_precondition(format!("Attempting to use uninitialized value {}", self.name))
    }
}
