//! Checked allocation: the only way to allocate memory whose size is computed from shapes,
//! arguments or data.
//!
//! Products are checked for overflow. A request that exceeds the memory of this machine (or its
//! control group) fails with `ResourceExhausted` and TensorFlow's text, and so does a request that
//! the system rejects. Otherwise the process would be aborted. The limit applies to single
//! requests: memory already in use is not counted.
//!
//! `clippy.toml` disallows other allocations. They are fine for memory that is as large as existing
//! data or bounded by a constant, and each such place has a comment.

use crate::error::{Code, Error, Result};
use crate::tensor::dtype::DType;
use crate::tensor::memory_limit::{MemoryLimit, memory_limit};
use crate::tensor::shape::Shape;
use bytemuck::Zeroable;
use bytes::Bytes;
use smallvec::{Array, SmallVec};
use std::collections::VecDeque;
use std::fmt;
use std::io::Read;

/// Requests smaller than this are not compared with the limit.
const SMALL_BYTES: usize = 1 << 20;
/// How much memory an allocator may request from the system at a time for small pieces.
const PART_BYTES: usize = 4 << 20;

/// The remedy if there is not enough memory.
const REMEDY: &str = "Use less memory, or a machine or control group with more of it";

/// Why memory was not allocated: the requested size, if it can be computed, and the limit.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    num_bytes: Option<usize>,
    limit: MemoryLimit,
}

impl Refusal {
    #[cold]
    fn new(num_bytes: Option<usize>) -> Self {
        Self { num_bytes, limit: memory_limit() }
    }

    /// Converts it to an error at `position`: `PLACE: N bytes were requested, ...`.
    pub fn at(self, position: impl fmt::Display) -> Error {
        Error::new(Code::ResourceExhausted, format!("{position}: {self}"))
    }

    /// Converts it to an error for the elements of a tensor.
    pub fn of_tensor(self, dtype: DType, shape: &Shape) -> Error {
        self.at(format_args!("OOM when allocating tensor with shape{shape} and type {dtype}"))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryLimit { num_bytes: limit, owner } = self.limit;
        match self.num_bytes {
            Some(num_bytes) if num_bytes as u64 <= limit => {
                write!(f, "the system cannot allocate {num_bytes} bytes. {REMEDY}")
            }
            Some(num_bytes) => {
                write!(f, "{num_bytes} bytes were requested, expected at most the {limit} of {owner}. {REMEDY}")
            }
            None => write!(f, "2**64 bytes or more were requested, expected at most the {limit} of {owner}. {REMEDY}"),
        }
    }
}

/// Fails if this process can never have `num_bytes` of memory.
#[inline]
pub fn check(num_bytes: usize) -> std::result::Result<(), Refusal> {
    match num_bytes < SMALL_BYTES || num_bytes as u64 <= memory_limit().num_bytes {
        true => Ok(()),
        false => Err(Refusal::new(Some(num_bytes))),
    }
}

#[inline]
fn bytes_of<T>(count: usize) -> std::result::Result<usize, Refusal> {
    let num_bytes = count.checked_mul(size_of::<T>()).ok_or_else(|| Refusal::new(None))?;
    check(num_bytes).map(|()| num_bytes)
}

/// Creates an empty vector with room for `count` values.
#[inline]
pub fn room<T>(count: usize) -> std::result::Result<Vec<T>, Refusal> {
    let num_bytes = bytes_of::<T>(count)?;
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| Refusal::new(Some(num_bytes)))?;
    Ok(values)
}

/// Creates `count` zeros.
#[inline]
pub fn zeros<T: Zeroable>(count: usize) -> std::result::Result<Vec<T>, Refusal> {
    let num_bytes = bytes_of::<T>(count)?;
    bytemuck::allocation::try_zeroed_vec(count).map_err(|()| Refusal::new(Some(num_bytes)))
}

/// Creates `count` copies of a value.
pub fn copies<T: Clone>(count: usize, value: T) -> std::result::Result<Vec<T>, Refusal> {
    let mut values = room(count)?;
    #[expect(clippy::disallowed_methods, reason = "there is room")]
    values.resize(count, value);
    Ok(values)
}

/// Collects an iterator that yields `count` values.
#[inline]
pub fn collected<T>(count: usize, values: impl Iterator<Item = T>) -> std::result::Result<Vec<T>, Refusal> {
    let mut collected = room(count)?;
    collected.extend(values);
    Ok(collected)
}

/// Collects an iterator of unknown length.
pub fn gathered<T>(values: impl Iterator<Item = T>) -> std::result::Result<Vec<T>, Refusal> {
    let mut gathered = room(values.size_hint().0)?;
    for value in values {
        grow(&mut gathered, 1)?;
        gathered.push(value);
    }
    Ok(gathered)
}

/// Like [`gathered`], for a vector whose first values are stored inline.
pub fn gathered_small<A: Array>(values: impl Iterator<Item = A::Item>) -> std::result::Result<SmallVec<A>, Refusal> {
    let mut gathered = SmallVec::new();
    grow_small(&mut gathered, values.size_hint().0)?;
    for value in values {
        grow_small(&mut gathered, 1)?;
        gathered.push(value);
    }
    Ok(gathered)
}

/// Like [`collected`], for a vector whose first values are stored inline.
pub fn collected_small<A: Array>(
    values: impl ExactSizeIterator<Item = A::Item>,
) -> std::result::Result<SmallVec<A>, Refusal> {
    match values.len() <= A::size() {
        true => Ok(values.collect()),
        false => collected(values.len(), values).map(SmallVec::from_vec),
    }
}

/// Like [`gathered_small`], for values that may fail. Returns the first error, or an error at
/// `position` if there is no memory.
pub fn try_gathered_small<A: Array>(
    position: &str,
    values: impl Iterator<Item = Result<A::Item>>,
) -> Result<SmallVec<A>> {
    let mut gathered = SmallVec::new();
    for value in values {
        grow_small(&mut gathered, 1).map_err(|refusal| refusal.at(position))?;
        gathered.push(value?);
    }
    Ok(gathered)
}

/// Collects the values of an iterator in order, or returns its first error. `refused` converts a
/// refusal to such an error.
pub fn try_gathered<T, E>(
    values: impl Iterator<Item = std::result::Result<T, E>>,
    refused: impl Fn(Refusal) -> E,
) -> std::result::Result<Vec<T>, E> {
    let mut gathered = room(values.size_hint().0).map_err(&refused)?;
    for value in values {
        grow(&mut gathered, 1).map_err(&refused)?;
        gathered.push(value?);
    }
    Ok(gathered)
}

/// Appends a copy of `more` to `bytes`.
#[inline]
pub fn append(bytes: &mut Vec<u8>, more: &[u8]) -> std::result::Result<(), Refusal> {
    grow(bytes, more.len())?;
    bytes.extend_from_slice(more);
    Ok(())
}

/// Fails if the system does not have this much memory available now. Called before foreign code
/// allocates memory and would abort the process if that failed.
pub fn probe(num_bytes: usize) -> std::result::Result<(), Refusal> {
    room::<u8>(num_bytes).map(drop)
}

/// Like [`probe`], for `count` allocations of about `num_bytes` each. Allocators round such pieces
/// up, and request memory from the system in larger parts.
pub fn probe_pieces(count: usize, num_bytes: usize) -> std::result::Result<(), Refusal> {
    let total = count.saturating_mul(num_bytes);
    match total < SMALL_BYTES {
        true => Ok(()),
        false => probe(total.saturating_add(total / 4).saturating_add(PART_BYTES)),
    }
}

/// Reserves memory for one more element at the end of a list, which will have at most `most`
/// elements.
pub fn grow_back<T>(list: &mut VecDeque<T>, most: usize) -> std::result::Result<(), Refusal> {
    if list.len() < list.capacity() {
        return Ok(());
    }
    let additional = list.len().clamp(1, most.saturating_sub(list.len()).max(1));
    let num_bytes = bytes_of::<T>(list.len().saturating_add(additional))?;
    list.try_reserve_exact(additional).map_err(|_| Refusal::new(Some(num_bytes)))
}

/// A copy of `bytes`.
#[inline]
pub fn copied(bytes: &[u8]) -> std::result::Result<Bytes, Refusal> {
    let mut copy = room(bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy.into())
}

/// Reserves memory for exactly `additional` more values.
#[inline]
pub fn reserve<T>(values: &mut Vec<T>, additional: usize) -> std::result::Result<(), Refusal> {
    let length = values.len().checked_add(additional).ok_or_else(|| Refusal::new(None))?;
    let num_bytes = bytes_of::<T>(length)?;
    values.try_reserve_exact(additional).map_err(|_| Refusal::new(Some(num_bytes)))
}

/// Reserves memory for at least `additional` more values, for vectors that grow while data is read.
#[inline]
pub fn grow<T>(values: &mut Vec<T>, additional: usize) -> std::result::Result<(), Refusal> {
    match values.capacity() - values.len() >= additional {
        true => Ok(()),
        false => grow_at_least(values, additional),
    }
}

#[cold]
fn grow_at_least<T>(values: &mut Vec<T>, additional: usize) -> std::result::Result<(), Refusal> {
    let length = values.len().checked_add(additional).ok_or_else(|| Refusal::new(None))?;
    // While the vector moves, the old and the new values exist at the same time.
    let doubled = length.max(values.capacity().saturating_mul(2));
    let num_bytes = bytes_of::<T>(doubled.saturating_add(values.capacity()))?;
    values.try_reserve_exact(doubled - values.len()).map_err(|_| Refusal::new(Some(num_bytes)))
}

/// Like [`grow`], for a vector whose first values are stored inline.
pub fn grow_small<A: Array>(values: &mut SmallVec<A>, additional: usize) -> std::result::Result<(), Refusal> {
    if values.capacity() - values.len() >= additional {
        return Ok(());
    }
    let doubled = values.len().checked_add(additional).and_then(|length| length.checked_next_power_of_two());
    let length = doubled.ok_or_else(|| Refusal::new(None))?;
    let num_bytes = bytes_of::<A::Item>(length.saturating_add(values.capacity()))?;
    values.try_grow(length).map_err(|_| Refusal::new(Some(num_bytes)))
}

/// Why reading stopped early.
pub enum Unread {
    /// There is no memory for it.
    Refused(Refusal),
    /// The input has failed.
    Failed(std::io::Error),
}

/// Appends the rest of `input` to `bytes`.
#[expect(clippy::disallowed_methods, reason = "reads no more than there is room for")]
pub fn read_to_end(input: &mut impl Read, bytes: &mut Vec<u8>) -> std::result::Result<(), Unread> {
    const STEP_BYTES: u64 = 32 * 1024;
    loop {
        let room = (bytes.capacity() - bytes.len()) as u64;
        // Reading one more byte detects the end of an input of the expected length without more
        // memory.
        let limit = room.max(1);
        let mut part = input.by_ref().take(limit);
        if room == 0 {
            let mut byte = [0];
            match read_once(&mut part, &mut byte).map_err(Unread::Failed)? {
                0 => return Ok(()),
                _ => grow(bytes, STEP_BYTES as usize).map_err(Unread::Refused)?,
            }
            bytes.push(byte[0]);
        } else if part.read_to_end(bytes).map_err(Unread::Failed)? as u64 != limit {
            return Ok(());
        }
    }
}

fn read_once(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Memory for the elements of a tensor.
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    dtype: DType,
    shape: &'a Shape,
}

/// Prepares to allocate memory for the elements of a tensor with this dtype and shape.
#[inline]
pub fn elements(dtype: DType, shape: &Shape) -> Elements<'_> {
    Elements { dtype, shape }
}

impl Elements<'_> {
    /// The number of values of type `T` that occupy exactly the bytes of the elements.
    #[inline]
    fn count<T>(&self) -> Result<usize> {
        let element_bytes = if self.dtype == DType::String { size_of::<Bytes>() } else { self.dtype.size() };
        let num_bytes = self.shape.checked_num_elements()?.checked_mul(element_bytes);
        num_bytes.map(|num_bytes| num_bytes / size_of::<T>()).ok_or_else(|| self.refused(Refusal::new(None)))
    }

    #[cold]
    fn refused(&self, refusal: Refusal) -> Error {
        refusal.of_tensor(self.dtype, self.shape)
    }

    /// Fails if this process can never have that much memory.
    pub fn check(&self) -> Result<()> {
        check(self.count::<u8>()?).map_err(|refusal| self.refused(refusal))
    }

    /// Creates an empty vector with room for the elements.
    #[inline]
    pub fn room<T>(&self) -> Result<Vec<T>> {
        room(self.count::<T>()?).map_err(|refusal| self.refused(refusal))
    }

    /// Creates a zero for each element.
    #[inline]
    pub fn zeros<T: Zeroable>(&self) -> Result<Vec<T>> {
        zeros(self.count::<T>()?).map_err(|refusal| self.refused(refusal))
    }

    /// Creates a copy of `value` for each element.
    pub fn copies<T: Clone>(&self, value: T) -> Result<Vec<T>> {
        copies(self.count::<T>()?, value).map_err(|refusal| self.refused(refusal))
    }

    /// Creates the bytes of elements that are all equal to `value`. Empty means zero.
    pub fn filled(&self, value: &[u8]) -> Result<Vec<u8>> {
        if value.iter().all(|byte| *byte == 0) {
            return self.zeros();
        }
        let mut bytes: Vec<u8> = self.room()?;
        let num_bytes = self.count::<u8>()?;
        bytes.extend_from_slice(&value[..value.len().min(num_bytes)]);
        while bytes.len() < num_bytes {
            // The copied part doubles each time, so only a few copies are needed.
            bytes.extend_from_within(..bytes.len().min(num_bytes - bytes.len()));
        }
        Ok(bytes)
    }

    /// Collects an iterator that yields one value per element, or returns its first error.
    pub fn try_collect<T>(&self, values: impl Iterator<Item = Result<T>>) -> Result<Vec<T>> {
        let mut collected = self.room()?;
        for value in values {
            collected.push(value?);
        }
        Ok(collected)
    }

    /// Collects an iterator that yields one value per element.
    #[inline]
    pub fn collect<T>(&self, values: impl Iterator<Item = T>) -> Result<Vec<T>> {
        collected(self.count::<T>()?, values).map_err(|refusal| self.refused(refusal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PETABYTE: usize = 1 << 50;

    #[test]
    fn error_for_an_impossible_size_names_the_size_and_the_limit() {
        let MemoryLimit { num_bytes: limit, owner } = memory_limit();
        let text = |refusal: Refusal| refusal.at("here").message().to_owned();
        let expected = format!("expected at most the {limit} of {owner}. {REMEDY}");
        let huge = format!("here: {PETABYTE} bytes were requested, {expected}");
        assert_eq!(text(room::<u64>(PETABYTE / 8).unwrap_err()), huge);
        assert_eq!(text(zeros::<u32>(PETABYTE / 4).unwrap_err()), huge);
        assert_eq!(text(copies(PETABYTE, 7_u8).unwrap_err()), huge);
        assert_eq!(text(collected(PETABYTE, 0..7_u8).unwrap_err()), huge);
        assert_eq!(text(reserve(&mut Vec::<u8>::new(), PETABYTE).unwrap_err()), huge);
        assert_eq!(text(check(PETABYTE).unwrap_err()), huge);
        let endless = format!("here: 2**64 bytes or more were requested, {expected}");
        assert_eq!(text(room::<u64>(usize::MAX / 2).unwrap_err()), endless);
        assert_eq!(text(grow(&mut vec![0_u8], usize::MAX).unwrap_err()), endless);
    }

    #[test]
    fn allocation_failure_of_the_system_has_its_own_message() {
        let text = Refusal::new(Some(1000)).at("here").message().to_owned();
        assert_eq!(text, format!("here: the system cannot allocate 1000 bytes. {REMEDY}"));
    }

    #[test]
    fn tensor_of_any_value_size_can_be_allocated() {
        let (shape, huge) = (Shape::new(&[3, 2]), Shape::new(&[1 << 40, 1 << 10]));
        let doubles = elements(DType::Float64, &shape);
        assert_eq!(doubles.zeros::<f64>().unwrap(), [0.0; 6]);
        assert_eq!(doubles.zeros::<[u8; 8]>().unwrap().len(), 6);
        assert_eq!(doubles.room::<u8>().unwrap().capacity(), 48);
        assert_eq!(doubles.collect(0..6).unwrap(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(elements(DType::String, &shape).copies(Bytes::from("a")).unwrap(), ["a"; 6]);
        assert_eq!(elements(DType::Int16, &shape).filled(&[1, 2]).unwrap(), [1, 2].repeat(6));
        assert_eq!(elements(DType::Int16, &Shape::new(&[0])).filled(&[1, 2]).unwrap(), [0_u8; 0]);
        let error = elements(DType::Float64, &huge).zeros::<f64>().unwrap_err();
        assert_eq!(error.code(), Code::ResourceExhausted);
        let text =
            "OOM when allocating tensor with shape[1099511627776,1024] and type double: 9007199254740992 bytes were";
        assert!(error.message().starts_with(text), "{error}");
        let none = Shape::new(&[1 << 40, 1 << 40]);
        assert_eq!(elements(DType::UInt8, &none).check().unwrap_err().code(), Code::InvalidArgument);
    }

    #[test]
    fn vector_grows_by_doubling() {
        let mut values = vec![1_u8; 1000];
        grow(&mut values, 1).unwrap();
        assert_eq!((values.len(), values.capacity()), (1000, 2000));
        grow(&mut values, 1000).unwrap();
        assert_eq!(values.capacity(), 2000);
        let mut small = SmallVec::<[u8; 4]>::from_slice(&[1, 2]);
        grow_small(&mut small, 2).unwrap();
        assert!(!small.spilled());
        grow_small(&mut small, 7).unwrap();
        assert_eq!((small.len(), small.capacity()), (2, 16));
    }

    #[test]
    fn small_vector_of_known_length_allocates_exactly() {
        let few = collected_small::<[u8; 4]>([1, 2, 3, 4].into_iter()).unwrap();
        assert!(!few.spilled());
        let many = collected_small::<[u8; 4]>([1, 2, 3, 4, 5].into_iter()).unwrap();
        assert_eq!((many.as_slice(), many.capacity()), (&[1, 2, 3, 4, 5][..], 5));
    }

    #[test]
    fn input_is_read_to_its_end_for_any_initial_capacity() {
        let data: Vec<u8> = (0..100_000_u32).map(|number| number as u8).collect();
        for room in [0, 1, 99_999, 100_000, 100_001] {
            let mut bytes = Vec::with_capacity(room);
            assert!(read_to_end(&mut &data[..], &mut bytes).is_ok());
            assert!(bytes == data);
        }
        let mut bytes = Vec::with_capacity(3);
        assert!(read_to_end(&mut &data[..3], &mut bytes).is_ok());
        assert_eq!(bytes.capacity(), 3);
    }
}
