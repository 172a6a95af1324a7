//! Detects requested components that are missing from every record, perhaps because of a typo.

use headrace_engine::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The maximum number of names to remember from a record.
pub const MOST_NAMES: usize = 50;

/// The requested components of a stage that have occurred so far: lists of features, or JSON keys
/// that may be missing. Written by the stage's tasks and read by its creator.
#[derive(Default)]
pub struct SeenComponents {
    seen: Mutex<Seen>,
    /// True once all of them have occurred.
    is_done: AtomicBool,
}

#[derive(Clone, Default)]
struct Seen {
    num_records: u64,
    /// Once a record has been read, the names of the components that have not occurred.
    unseen: Option<Vec<String>>,
    /// The names that the first record has.
    there: Vec<String>,
}

/// Requested components that occur in no record.
pub struct Unseen {
    /// The number of records.
    pub num_records: u64,
    /// The names of the missing components.
    pub names: Vec<String>,
    /// The names that occur in a record.
    pub there: Vec<String>,
}

impl SeenComponents {
    /// Starts without any component seen.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Returns true once all components have occurred.
    pub fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Relaxed)
    }

    /// Adds some records. `seen` is true for each component that occurred in them. `there` returns
    /// the names in one of the records.
    pub fn add<'a>(
        &self,
        num_records: usize,
        components: impl Iterator<Item = (&'a str, bool)>,
        there: impl FnOnce() -> Vec<String>,
    ) {
        let components: Vec<_> = components.collect();
        let mut seen = self.seen.lock();
        let unseen = seen.unseen.take();
        let is_unseen = |name: &str| unseen.as_ref().is_none_or(|unseen| unseen.iter().any(|other| other == name));
        let unseen: Vec<_> = components
            .iter()
            .filter(|(name, is_seen)| !is_seen && is_unseen(name))
            .map(|(name, _)| (*name).to_owned())
            .collect();
        self.is_done.store(unseen.is_empty(), Ordering::Relaxed);
        if !unseen.is_empty() && seen.num_records == 0 {
            seen.there = there();
        }
        seen.unseen = Some(unseen);
        seen.num_records += num_records as u64;
    }

    /// Returns the components that occur in no record, once some records have been read.
    pub fn unseen(&self) -> Option<Unseen> {
        let Seen { num_records, unseen, there } = self.seen.lock().clone();
        let names: Vec<_> = unseen?.into_iter().filter(|name| !there.contains(name)).collect();
        (!names.is_empty()).then_some(Unseen { num_records, names, there })
    }
}
