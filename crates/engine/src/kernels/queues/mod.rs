//! Operations on queues.

pub mod queue;
pub mod select;
