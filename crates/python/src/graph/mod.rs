//! Programs, the Python functions that they call, and the resources that they use.

pub mod chat;
pub mod function;
pub mod program;
pub mod resource;
pub mod saved;
