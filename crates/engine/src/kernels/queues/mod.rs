//! Operations on queues and on staging areas.

pub mod queue;
pub mod select;
pub mod staging;
