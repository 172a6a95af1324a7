//! The attributes of an operation, which are known before it runs.

use crate::error::{Error, Result};
use crate::tensor::dtype::DType;
use crate::tensor::shape::PartialShape;
use std::collections::HashMap;

/// The value of an attribute.
#[derive(Clone, Debug)]
pub enum Attr {
    /// A bool.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string.
    String(String),
    /// A string that is not valid UTF-8.
    Bytes(Vec<u8>),
    /// An element type.
    DType(DType),
    /// A shape, or `None` if even the rank is unknown.
    Shape(Option<PartialShape>),
    /// A list.
    List(Vec<Attr>),
}

/// The attributes of an operation, by name.
#[derive(Clone, Debug, Default)]
pub struct Attrs(HashMap<String, Attr>);

impl Attrs {
    /// Adds an attribute.
    pub fn insert(&mut self, name: impl Into<String>, value: Attr) {
        self.0.insert(name.into(), value);
    }

    /// Returns a bool. Fails if the attribute is missing or has the wrong type.
    pub fn bool(&self, name: &str) -> Result<bool> {
        match self.get(name)? {
            Attr::Bool(value) => Ok(*value),
            other => Err(mismatch(name, "a bool", other)),
        }
    }

    /// Returns an integer. Fails if the attribute is missing or has the wrong type.
    pub fn int(&self, name: &str) -> Result<i64> {
        match self.get(name)? {
            Attr::Int(value) => Ok(*value),
            other => Err(mismatch(name, "an integer", other)),
        }
    }

    /// Returns a float. An integer is converted.
    pub fn float(&self, name: &str) -> Result<f64> {
        match self.get(name)? {
            Attr::Float(value) => Ok(*value),
            Attr::Int(value) => Ok(*value as f64),
            other => Err(mismatch(name, "a float", other)),
        }
    }

    /// Returns a string. Fails if the attribute is missing or has the wrong type.
    pub fn string(&self, name: &str) -> Result<&str> {
        match self.get(name)? {
            Attr::String(value) => Ok(value),
            other => Err(mismatch(name, "a string", other)),
        }
    }

    /// Returns the bytes of any string.
    pub fn bytes(&self, name: &str) -> Result<&[u8]> {
        match self.get(name)? {
            Attr::String(value) => Ok(value.as_bytes()),
            Attr::Bytes(value) => Ok(value),
            other => Err(mismatch(name, "a string", other)),
        }
    }

    /// Returns a dtype. Fails if the attribute is missing or has the wrong type.
    pub fn dtype(&self, name: &str) -> Result<DType> {
        match self.get(name)? {
            Attr::DType(value) => Ok(*value),
            other => Err(mismatch(name, "an element type", other)),
        }
    }

    /// Returns a shape, or `None` for an unknown rank. Fails if the attribute is missing or has
    /// the wrong type.
    pub fn shape(&self, name: &str) -> Result<Option<&PartialShape>> {
        match self.get(name)? {
            Attr::Shape(value) => Ok(value.as_ref()),
            other => Err(mismatch(name, "a shape", other)),
        }
    }

    /// Returns a list of attributes, each converted to `T` by `item`.
    pub fn list<T>(&self, name: &str, item: impl Fn(&Attr) -> Option<T>) -> Result<Vec<T>> {
        match self.get(name)? {
            Attr::List(items) => {
                items.iter().map(|value| item(value).ok_or_else(|| mismatch(name, "another list", value))).collect()
            }
            other => Err(mismatch(name, "a list", other)),
        }
    }

    fn get(&self, name: &str) -> Result<&Attr> {
        self.0.get(name).ok_or_else(|| Error::internal(format!("attribute '{name}' is missing")))
    }
}

fn mismatch(name: &str, expected: &str, got: &Attr) -> Error {
    Error::internal(format!("attribute '{name}' is {got:?}, expected {expected}"))
}
