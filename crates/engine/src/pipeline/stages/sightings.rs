//! Lists that are asked for and that no record has: perhaps their names are misspelt.

use crate::kernels::records::parse_example::for_each_feature;
use crate::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// So many names of a record are remembered.
const MOST_NAMES: usize = 50;

/// What was seen of the lists that a [`Parse`](crate::pipeline::stages::parse::Parse) asks for. Its tasks write it, and whoever made it reads.
#[derive(Default)]
pub struct Sightings {
    seen: Mutex<Seen>,
    /// Whether all of them were seen.
    is_done: AtomicBool,
}

#[derive(Clone, Default)]
struct Seen {
    num_records: u64,
    /// The names of those that were not seen, once a record was read.
    unseen: Option<Vec<String>>,
    /// The names that the first of the records has.
    there: Vec<String>,
}

/// Lists that no record has.
pub struct Unseen {
    /// How many records there were.
    pub num_records: u64,
    /// The names of the lists.
    pub names: Vec<String>,
    /// The names that a record has.
    pub there: Vec<String>,
}

impl Sightings {
    /// Nothing was seen.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Whether all lists were seen.
    pub fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Relaxed)
    }

    /// Adds some records, in which the lists of these names were seen or not. `first` is one of them.
    pub fn add<'a>(&self, num_records: usize, lists: impl Iterator<Item = (&'a str, bool)>, first: &[u8]) {
        let lists: Vec<_> = lists.collect();
        let mut seen = self.seen.lock();
        let unseen = seen.unseen.take();
        let is_unseen = |name: &str| unseen.as_ref().is_none_or(|unseen| unseen.iter().any(|other| other == name));
        let unseen: Vec<_> = lists
            .iter()
            .filter(|(name, is_seen)| !is_seen && is_unseen(name))
            .map(|(name, _)| (*name).to_owned())
            .collect();
        self.is_done.store(unseen.is_empty(), Ordering::Relaxed);
        if !unseen.is_empty() && seen.num_records == 0 {
            seen.there = names(first);
        }
        seen.unseen = Some(unseen);
        seen.num_records += num_records as u64;
    }

    /// The lists that no record has, once there were some records.
    pub fn unseen(&self) -> Option<Unseen> {
        let Seen { num_records, unseen, there } = self.seen.lock().clone();
        let names: Vec<_> = unseen?.into_iter().filter(|name| !there.contains(name)).collect();
        (!names.is_empty()).then_some(Unseen { num_records, names, there })
    }
}

/// The names of the features of an Example.
fn names(example: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    let _ = for_each_feature(example, |key, _| {
        if names.len() < MOST_NAMES {
            names.push(String::from_utf8_lossy(key).into_owned());
        }
    });
    names
}
