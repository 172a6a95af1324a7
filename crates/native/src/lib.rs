//! The extension module `headrace._native`: links `headrace_python`, where it is written.
//!
//! A crate of its own, since optimisation while linking follows the level of the crate that is
//! linked. So the binding can be built to be small and the engine to be fast.

use headrace_python as _;
