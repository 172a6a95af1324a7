//! Calls that release the GIL and wait, and how they end.

pub mod cancellation;
pub mod detach;
pub mod exit;
pub mod waits;
pub mod watch;
