//! Operations on queues, barriers and staging areas.

pub mod barrier;
pub mod queue;
pub mod select;
pub mod staging;
