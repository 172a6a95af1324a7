//! A digest of the global order, computed from the identities of all rows up to a position.

use crate::blocks::block::Block;
use crate::blocks::file_provenance::FileProvenance;
use crate::blocks::row_id::RowId;
use crate::blocks::rows::Rows;
use crate::budget::{Budget, Charge};
use headrace_engine::philox::mix;
use headrace_engine::sync::Mutex;
use headrace_engine::tensor::allocate;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Weak};

/// The prime modulus of the hashes.
const PRIME: u64 = (1 << 61) - 1;
/// The base of the polynomial; any large number.
const BASE: u64 = 0x0b5a_d4ec_eda1_ce2a;
/// Consecutive records are stored as a run if there are at least this many.
const LEAST_RUN: usize = 8;
/// Memory is freed if it could hold more than this many times the stored identities.
const SPARE: usize = 8;
/// Represents a row of unknown identity in the hash.
const UNKNOWN: u64 = 0x1d8e_4e27_c47d_124f;

/// How many numbers are hashed at a time.
const LANES: usize = 8;
/// `BASE` to the power of `LANES`, `LANES - 1`, …, 0.
const POWERS: [u64; LANES + 1] = {
    let mut powers = [1; LANES + 1];
    let mut lane = LANES;
    while lane > 0 {
        powers[lane - 1] = times(powers[lane], BASE);
        lane -= 1;
    }
    powers
};

const fn times(one: u64, other: u64) -> u64 {
    let product = one as u128 * other as u128;
    reduced((product as u64 & PRIME) + (product >> 61) as u64)
}

const fn plus(one: u64, other: u64) -> u64 {
    reduced(one + other)
}

const fn reduced(number: u64) -> u64 {
    let number = (number & PRIME) + (number >> 61);
    if number >= PRIME { number - PRIME } else { number }
}

/// A polynomial hash of a sequence of numbers. A run of consecutive numbers takes only a few steps,
/// whatever its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceHash {
    /// Below `PRIME`.
    pub value: u64,
    /// The number of numbers hashed.
    pub len: u64,
}

/// The effect of `len` consecutive numbers on the hash: `before * power + first * sum + rest`.
#[derive(Clone, Copy)]
struct Consecutive {
    len: u64,
    power: u64,
    sum: u64,
    rest: u64,
}

impl Consecutive {
    const ONE: Self = Self { len: 1, power: BASE, sum: 1, rest: 0 };

    fn then(self, next: Self) -> Self {
        Self {
            len: self.len.wrapping_add(next.len),
            power: times(self.power, next.power),
            sum: plus(times(self.sum, next.power), next.sum),
            rest: plus(plus(times(self.rest, next.power), times(reduced(self.len), next.sum)), next.rest),
        }
    }
}

impl SequenceHash {
    fn push(&mut self, number: u64) {
        self.value = plus(times(self.value, BASE), reduced(number));
        self.len += 1;
    }

    /// Adds several numbers in groups, so that the products don't depend on each other.
    fn push_all(&mut self, numbers: &[u64]) {
        let (groups, rest) = numbers.as_chunks::<LANES>();
        for group in groups {
            let mut sum = u128::from(self.value) * u128::from(POWERS[0]);
            for (number, power) in group.iter().zip(&POWERS[1..]) {
                sum += u128::from(reduced(*number)) * u128::from(*power);
            }
            let parts = (sum as u64 & PRIME) + ((sum >> 61) as u64 & PRIME) + (sum >> 122) as u64;
            self.value = reduced(parts);
        }
        self.len += (numbers.len() - rest.len()) as u64;
        rest.iter().for_each(|number| self.push(*number));
    }

    /// Adds the numbers `first`, `first + 1`, … modulo `PRIME`.
    fn push_run(&mut self, first: u64, count: u64) {
        let (mut first, mut step, mut rest) = (reduced(first), Consecutive::ONE, count);
        while rest > 0 {
            if rest & 1 == 1 {
                self.value = plus(plus(times(self.value, step.power), times(first, step.sum)), step.rest);
                first = plus(first, reduced(step.len));
            }
            rest >>= 1;
            if rest > 0 {
                step = step.then(step);
            }
        }
        self.len += count;
    }
}

/// A position in the order, with the hash of everything before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// The number of the pass.
    pub pass: u64,
    /// The number of rows or batches before it in the pass.
    pub position: u64,
    /// The hash of everything before it, over all passes.
    pub hash: SequenceHash,
}

/// The order digest of one iteration. Written by the node that sees the rows of the global order;
/// read by the consumer, which lags behind that node.
#[derive(Debug, Default)]
pub struct OrderDigest {
    log: Mutex<Log>,
    /// The digests of several lanes. In that case, this one has no log.
    lanes: Vec<Arc<OrderDigest>>,
    /// True if the lanes have one input, so that all of them see its rows.
    is_shared: bool,
}

#[derive(Debug, Default)]
struct Log {
    /// The last known point before the consumer's position.
    consumed: Point,
    /// Rows after that point that have been seen.
    later: VecDeque<Seen>,
    /// The pass and the position up to which rows have been seen.
    seen: (u64, u64),
    /// True if that position is the end of the pass.
    is_pass_over: bool,
    /// The number of stored identities.
    num_held: usize,
    /// The number of identities left after unneeded ones were last dropped.
    num_left: usize,
    /// The memory charge for the identities.
    charge: Option<Charge>,
    remembered: RememberedFiles,
}

/// Neighbouring rows.
#[derive(Debug)]
struct Seen {
    pass: u64,
    position: u64,
    keys: Keys,
}

/// The numbers that represent rows in the hash.
#[derive(Debug)]
enum Keys {
    /// Consecutive numbers: the first one, and how many there are.
    Run(u64, u64),
    /// One number per row.
    Each(VecDeque<u64>),
    /// The numbers of all rows of one batch.
    Batch(Vec<u64>),
}

impl OrderDigest {
    /// Unneeded identities are dropped if there are more than this many.
    const MANY: usize = 4096;

    /// The digests of several lanes. If `is_shared`, all begin at the same point.
    pub fn of_lanes(lanes: Vec<Arc<Self>>, is_shared: bool) -> Self {
        Self { log: Mutex::default(), lanes, is_shared }
    }

    /// The digest that sees the rows of a lane.
    pub(super) fn of_lane(self: &Arc<Self>, lane: usize) -> Arc<Self> {
        match self.lanes.get(lane) {
            Some(digest) if !self.is_shared => Arc::clone(digest),
            _ => Arc::clone(self),
        }
    }

    /// Starts at a point that an earlier iteration reached.
    pub fn begin(&self, point: Point) {
        *self.log.lock() = Log { consumed: point, seen: (point.pass, point.position), ..Log::default() };
    }

    /// Returns the position in a pass from which rows have to be seen again. The rows are needed
    /// from position `requested` on, and the node can start at position `first` or later.
    pub(super) fn position_to_begin(&self, pass: u64, first: u64, requested: u64) -> u64 {
        let log = self.lanes.first().map_or(&self.log, |first| &first.log).lock();
        match log.seen {
            (seen_pass, position) if seen_pass == pass => position.clamp(first, requested),
            _ => requested,
        }
    }

    /// Adds rows that begin at this position, and charges their memory. Rows that were seen before
    /// are skipped.
    pub(super) fn push(&self, pass: u64, position: u64, rows: &Rows, budget: &Arc<Budget>) {
        self.lanes.iter().for_each(|lane| lane.push(pass, position, rows, budget));
        if !self.lanes.is_empty() {
            return;
        }
        let mut log = self.log.lock();
        log.push(pass, position, rows);
        let num_bytes = log.held_bytes();
        log.charge.get_or_insert_with(|| budget.charge(0)).correct(num_bytes);
    }

    /// Records the end of a pass.
    pub(super) fn end(&self, pass: u64, position: u64) {
        self.lanes.iter().for_each(|lane| lane.end(pass, position));
        let mut log = self.log.lock();
        if log.seen.0 <= pass {
            let position = if log.seen.0 == pass { log.seen.1.max(position) } else { position };
            (log.seen, log.is_pass_over) = ((pass, position), true);
        }
    }

    /// Returns true if there may be many identities that the consumer has passed.
    /// [`OrderDigest::advance`] drops them.
    pub fn is_long(&self) -> bool {
        let log = self.log.lock();
        log.num_held > Self::MANY.max(2 * log.num_left)
    }

    /// Returns the point at the consumer's position, or the last known one before it. The flag is
    /// true if the point is exactly at that position, and false if it is at the end of its pass.
    pub fn advance(&self, pass: u64, position: u64) -> (Point, bool) {
        let mut log = self.log.lock();
        log.advance(pass, position);
        log.num_left = log.num_held;
        let num_bytes = log.held_bytes();
        if let Some(charge) = &mut log.charge {
            charge.correct(num_bytes);
        }
        // A pass only begins after the previous one has ended.
        let is_known = position == 0 || log.seen >= (pass, position) || (log.seen.0 == pass && log.is_pass_over);
        (log.consumed, is_known)
    }
}

impl Log {
    fn held_bytes(&self) -> usize {
        self.num_held * size_of::<u64>() + self.later.len() * size_of::<Seen>()
    }

    fn push(&mut self, pass: u64, position: u64, rows: &Rows) {
        let num_positions = if rows.group().is_some() { 1 } else { rows.len() as u64 };
        let num_known = if self.seen.0 == pass { self.seen.1.saturating_sub(position).min(num_positions) } else { 0 };
        if self.seen.0 > pass || num_known == num_positions {
            return;
        }
        self.seen = (pass, position + num_positions);
        self.is_pass_over = false;
        let mut remembered = std::mem::take(&mut self.remembered);
        self.push_keys((pass, position), num_known, rows, &mut KeysOf::new(rows.blocks(), &mut remembered));
        self.remembered = remembered;
    }

    /// Adds rows that begin at this position. The first `num_known` of them were seen before.
    fn push_keys(&mut self, (pass, position): (u64, u64), num_known: u64, rows: &Rows, keys: &mut KeysOf<'_>) {
        if rows.group().is_some() {
            self.num_held += rows.len();
            let mut batch: Vec<u64> = allocate::room(rows.len()).unwrap_or_default();
            let mut index = 0;
            while let Some((block, start, length)) = rows.numbered_run(index) {
                index += 1;
                keys.of_rows(block, start..start + length, &mut batch);
            }
            self.later.push_back(Seen { pass, position, keys: Keys::Batch(batch) });
            return;
        }
        let mut each: Vec<u64> = allocate::room(rows.len()).unwrap_or_default();
        let mut at = position;
        let mut index = 0;
        while let Some((block, start, length)) = rows.numbered_run(index) {
            index += 1;
            let num_repeated = num_known.saturating_sub(at - position).min(length as u64) as usize;
            let (first, length) = (start + num_repeated, length - num_repeated);
            at += num_repeated as u64;
            match keys.of_run(block, first) {
                Some(key) if length >= LEAST_RUN => {
                    self.push_each(pass, at, &mut each);
                    self.push_run(pass, at, key, length as u64);
                }
                Some(key) => (0..length).for_each(|distance| each.push(plus(key, distance as u64))),
                None => keys.of_rows(block, first..first + length, &mut each),
            }
            at += length as u64;
        }
        self.push_each(pass, at, &mut each);
    }

    fn push_run(&mut self, pass: u64, position: u64, first: u64, count: u64) {
        if let Some(Seen { pass: last_pass, keys: Keys::Run(last, length), .. }) = self.later.back_mut()
            && *last_pass == pass
            && plus(*last, reduced(*length)) == first
        {
            *length += count;
            return;
        }
        self.num_held += 1;
        self.later.push_back(Seen { pass, position, keys: Keys::Run(first, count) });
    }

    /// Hashes the remaining numbers of rows before a position one by one, and removes them.
    fn push_each(&mut self, pass: u64, end: u64, each: &mut Vec<u64>) {
        if each.is_empty() {
            return;
        }
        self.num_held += each.len();
        if let Some(Seen { pass: last, keys: Keys::Each(keys), .. }) = self.later.back_mut()
            && *last == pass
        {
            keys.extend(each.drain(..));
            return;
        }
        let position = end - each.len() as u64;
        self.later.push_back(Seen { pass, position, keys: Keys::Each(std::mem::take(each).into()) });
    }

    fn advance(&mut self, pass: u64, position: u64) {
        while let Some(next) = self.later.front_mut()
            && (next.pass, next.position) < (pass, position)
        {
            let most = if next.pass < pass { u64::MAX } else { position - next.position };
            let hash = &mut self.consumed.hash;
            let (num_positions, is_whole) = match &mut next.keys {
                Keys::Run(first, count) => {
                    let taken = most.min(*count);
                    hash.push_run(*first, taken);
                    (*first, *count) = (plus(*first, reduced(taken)), *count - taken);
                    self.num_held -= usize::from(*count == 0);
                    (taken, *count == 0)
                }
                Keys::Each(keys) => {
                    let taken = usize::try_from(most).unwrap_or(usize::MAX).min(keys.len());
                    let (front, back) = keys.as_slices();
                    let in_front = taken.min(front.len());
                    hash.push_all(&front[..in_front]);
                    hash.push_all(&back[..taken - in_front]);
                    keys.drain(..taken);
                    if keys.capacity() > SPARE * keys.len() {
                        keys.shrink_to(2 * keys.len());
                    }
                    self.num_held -= taken;
                    (taken as u64, keys.is_empty())
                }
                Keys::Batch(keys) => {
                    hash.push_all(keys);
                    // Marks the boundary between two batches.
                    hash.push(keys.len() as u64);
                    self.num_held -= keys.len();
                    (1, true)
                }
            };
            next.position += num_positions;
            (self.consumed.pass, self.consumed.position) = (next.pass, next.position);
            if is_whole {
                self.later.pop_front();
            }
        }
        if self.later.is_empty()
            && self.seen <= (pass, position)
            && self.seen >= (self.consumed.pass, self.consumed.position)
        {
            (self.consumed.pass, self.consumed.position) = self.seen;
        }
    }
}

/// Computes the numbers that represent rows of some blocks in the hash.
struct KeysOf<'a> {
    blocks: &'a [Arc<Block>],
    /// For each block of consecutive records of a file, the number of the first one.
    firsts: Vec<FirstKey>,
    /// The numbers of the first records of files, for blocks without consecutive records.
    bases: Vec<u64>,
    files: &'a mut RememberedFiles,
}

/// Recently used files with the number of their first record, because rows often alternate between
/// files. A weak pointer keeps an address from being used for another file.
#[derive(Debug, Default)]
struct RememberedFiles(Vec<(Weak<FileProvenance>, u64)>);

impl RememberedFiles {
    /// Remembers at least `count` files, up to a limit.
    fn grow_to(&mut self, count: usize) {
        let [least, most] = NUM_REMEMBERED;
        let num_slots = count.clamp(least, most).next_power_of_two();
        if self.0.len() < num_slots {
            self.0 = std::iter::repeat_with(Default::default).take(num_slots).collect();
        }
    }

    /// The number of a file's first record.
    fn base(&mut self, file: &Arc<FileProvenance>) -> u64 {
        let pointer = Arc::as_ptr(file);
        let position = (pointer as usize as u64).wrapping_mul(SPREAD) >> (u64::BITS - self.0.len().ilog2());
        let remembered = &mut self.0[position as usize];
        if remembered.0.as_ptr() != pointer {
            let id = RowId { pass: file.pass, file: file.number, record: 0, sub: 0 };
            // The records of a piece may be counted from the beginning of the piece.
            let piece = file.before.as_ref().map_or(0, |before| before.number());
            *remembered = (Arc::downgrade(file), reduced(mix(id.key(), piece)));
        }
        remembered.1
    }
}

/// The number that represents the first row of a block.
#[derive(Clone, Copy)]
enum FirstKey {
    Unseen,
    /// The numbers of the other rows follow consecutively.
    Consecutive(u64),
    /// The numbers of the first records of the block's files begin here in `bases`.
    Files(usize),
    /// The number of each row is looked up.
    Each,
}

/// The files of a block are all hashed in advance if there are at most this many. Other rows look
/// for their file.
const MOST_FILES: usize = 64;

/// The minimum and maximum number of slots for remembered files. Both are powers of two.
const NUM_REMEMBERED: [usize; 2] = [64, 2048];

impl<'a> KeysOf<'a> {
    fn new(blocks: &'a [Arc<Block>], files: &'a mut RememberedFiles) -> Self {
        files.grow_to(2 * blocks.len());
        let firsts = std::iter::repeat_n(FirstKey::Unseen, blocks.len()).collect();
        Self { blocks, firsts, bases: Vec::new(), files }
    }

    /// Returns the number of a row, if the numbers of the following rows are consecutive.
    #[inline]
    fn of_run(&mut self, block: usize, row: usize) -> Option<u64> {
        if let FirstKey::Unseen = self.firsts[block] {
            let provenance = self.blocks[block].provenance();
            self.firsts[block] = if let Some((file, record)) = provenance.run_from(0) {
                FirstKey::Consecutive(self.of(file, record, 0))
            } else if let Some(files) = provenance.files().filter(|files| files.len() <= MOST_FILES) {
                let first = self.bases.len();
                self.bases.extend(files.iter().map(|file| self.files.base(file)));
                FirstKey::Files(first)
            } else {
                FirstKey::Each
            };
        }
        match self.firsts[block] {
            FirstKey::Consecutive(first) => Some(plus(first, reduced(row as u64))),
            FirstKey::Unseen | FirstKey::Files(_) | FirstKey::Each => None,
        }
    }

    /// Adds the numbers of some rows of a block to `keys`.
    #[inline]
    fn of_rows(&mut self, block: usize, rows: Range<usize>, keys: &mut Vec<u64>) {
        if let Some(first) = self.of_run(block, rows.start) {
            keys.extend((0..rows.len() as u64).map(|distance| plus(first, distance)));
            return;
        }
        let provenance = self.blocks[block].provenance();
        if let FirstKey::Files(first) = self.firsts[block]
            && let Some(records) = provenance.plain_records(rows.clone())
        {
            let bases = &self.bases[first..];
            keys.extend(records.iter().map(|(file, record)| Self::number(bases[*file as usize], *record, 0)));
            return;
        }
        for row in rows {
            keys.push(match (self.firsts[block], provenance.record(row)) {
                (FirstKey::Files(first), Some((file, record, sub))) => {
                    Self::number(self.bases[first + file], record, sub)
                }
                _ => match provenance.identity(row) {
                    Some((file, record, sub)) => self.of(file, record, sub),
                    None => UNKNOWN,
                },
            });
        }
    }

    /// Returns the number of a record. Consecutive records of a file have consecutive numbers
    /// modulo `PRIME`.
    fn of(&mut self, file: &Arc<FileProvenance>, record: u64, sub: u64) -> u64 {
        Self::number(self.files.base(file), record, sub)
    }

    /// The number of a record, from the number of the first record of its file.
    fn number(base: u64, record: u64, sub: u64) -> u64 {
        let sub = if sub == 0 { 0 } else { reduced(mix(sub, UNKNOWN)) };
        plus(plus(base, reduced(record)), sub)
    }
}

/// An odd number, about `2^64` divided by the golden ratio, that spreads the addresses of files
/// over the slots.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_of(numbers: impl Iterator<Item = u64>) -> SequenceHash {
        let mut hash = SequenceHash::default();
        numbers.for_each(|number| hash.push(number));
        hash
    }

    #[test]
    fn run_hash_equals_the_hash_of_its_numbers() {
        for first in [0, 7, PRIME - 3, u64::MAX] {
            for count in [0, 1, 2, 3, 10, 63, 64, 1000] {
                let mut run = hash_of([5, 6].into_iter());
                run.push_run(first, count);
                let numbers = (0..count).map(|number| plus(reduced(first), number));
                assert_eq!(run, hash_of([5, 6].into_iter().chain(numbers)), "{count} from {first}");
            }
        }
    }

    #[test]
    fn numbers_hashed_together_match_individual_hashes() {
        for count in [0, 1, 7, 8, 9, 40, 1000] {
            let numbers: Vec<_> = (0..count).map(|number: u64| mix(number, 3)).chain([PRIME, u64::MAX]).collect();
            let mut hash = hash_of([5].into_iter());
            hash.push_all(&numbers);
            assert_eq!(hash, hash_of([5].into_iter().chain(numbers)), "{count}");
        }
    }

    #[test]
    fn different_order_has_a_different_hash() {
        let orders = [vec![1, 2, 3], vec![1, 3, 2], vec![2, 1, 3], vec![1, 2], vec![0, 1, 2, 3], vec![1, 2, 4]];
        let mut hashes: Vec<_> = orders.into_iter().map(|order| hash_of(order.into_iter())).collect();
        hashes.dedup_by_key(|hash| (hash.value, hash.len));
        assert_eq!(hashes.len(), 6);
    }

    #[test]
    fn digest_stops_at_the_consumer_or_the_last_known_row() {
        let mut log = Log::default();
        log.push_run(0, 0, 10, 4);
        log.push_run(0, 4, 14, 2);
        log.push_each(0, 8, &mut vec![99, 98]);
        log.push_run(1, 0, 30, 5);
        log.seen = (1, 5);
        let digest = OrderDigest { log: Mutex::new(log), ..OrderDigest::default() };
        let at = |pass, position, numbers: &[u64]| Point { pass, position, hash: hash_of(numbers.iter().copied()) };
        assert_eq!(digest.advance(0, 5), (at(0, 5, &[10, 11, 12, 13, 14]), true));
        let first = [10, 11, 12, 13, 14, 15, 99];
        assert_eq!(digest.advance(0, 7), (at(0, 7, &first), true));
        let first = [&first[..], &[98]].concat();
        // A position beyond the end of a pass counts as its end.
        assert_eq!(digest.advance(0, 12), (at(0, 8, &first), true));
        let first = [&first[..], &[30, 31, 32, 33, 34]].concat();
        assert_eq!(digest.advance(1, 8), (at(1, 5, &first), false));
        digest.end(1, 5);
        assert_eq!(digest.advance(1, 8), (at(1, 5, &first), true));
    }

    #[test]
    fn hashing_restarts_at_the_first_unknown_row() {
        let digest = OrderDigest::default();
        digest.begin(Point { pass: 2, position: 10, hash: SequenceHash::default() });
        assert_eq!(digest.position_to_begin(2, 4, 12), 10);
        assert_eq!(digest.position_to_begin(2, 11, 12), 11);
        assert_eq!(digest.position_to_begin(2, 0, 8), 8);
        assert_eq!(digest.position_to_begin(3, 0, 5), 5);
    }
}
