//! Aliasing: determines whether a part shares the memory of the whole or is copied.

use crate::tensor::allocate;
use bytes::Bytes;

/// Strings of a batch up to this length may share a buffer of any size.
pub const MAX_BUFFERED_BYTES: usize = 1024;

/// Returns true if a part should share the memory of the whole, which is the case if it has at
/// least four fifths of the bytes. Parts may themselves have parts (a feature of the record, its
/// pixels, a window of them), and even then they keep at most about twice their own size alive.
pub fn is_worth_aliasing(part_bytes: usize, whole_bytes: usize) -> bool {
    part_bytes >= whole_bytes - whole_bytes / 5
}

/// Returns `part`, which lies inside `record`, as a slice of the record or as a copy; see
/// [`is_worth_aliasing`].
pub fn alias_or_copy(part: &[u8], record: &Bytes) -> Bytes {
    match is_worth_aliasing(part.len(), record.len()) {
        true => record.slice_ref(part),
        // If there is no memory for the copy, the part keeps the whole record alive.
        false => allocate::copied(part).unwrap_or_else(|_| record.slice_ref(part)),
    }
}

/// Copies `bytes` if they may be in the buffer of a batch.
///
/// Everything that keeps bytes for a long time calls this first, including queues, variables and
/// sparse tables.
pub fn unshare(bytes: &mut Bytes) {
    if bytes.len() <= MAX_BUFFERED_BYTES {
        *bytes = Bytes::copy_from_slice(bytes);
    }
}

/// Like [`unshare`], for strings that are kept together. All strings that may be in a batch's
/// buffer are moved into a single allocation.
pub fn unshare_all(strings: &mut [Bytes]) {
    let short = strings.iter_mut().filter(|string| string.len() <= MAX_BUFFERED_BYTES);
    let Ok(mut short) = allocate::gathered(short) else { return };
    // If there is no memory for copies, the strings stay where they are.
    let Ok(mut buffer) = allocate::room(short.iter().map(|string| string.len()).sum()) else { return };
    short.iter().for_each(|string| buffer.extend_from_slice(string));
    let mut buffer = Bytes::from(buffer);
    short.iter_mut().for_each(|string| **string = buffer.split_to(string.len()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_part_shares_the_record_and_a_small_one_does_not() {
        let record = Bytes::from(vec![7; 100]);
        assert_eq!(alias_or_copy(&record[20..], &record).as_ptr(), record[20..].as_ptr());
        assert_ne!(alias_or_copy(&record[21..], &record).as_ptr(), record[21..].as_ptr());
        assert_eq!(alias_or_copy(&[], &Bytes::new()), Bytes::new());
    }

    #[test]
    fn only_short_strings_are_copied() {
        let whole = Bytes::from((0..5_000).map(|number| number as u8).collect::<Vec<_>>());
        for (length, moves) in [(MAX_BUFFERED_BYTES, true), (MAX_BUFFERED_BYTES + 1, false)] {
            let mut part = whole.slice(..length);
            unshare(&mut part);
            assert_eq!((part.as_ptr() != whole.as_ptr(), &part[..]), (moves, &whole[..length]));
        }
    }

    #[test]
    fn strings_copied_together_share_one_allocation() {
        let whole = Bytes::from((0..5_000).map(|number| number as u8).collect::<Vec<_>>());
        let parts = [whole.slice(..3), whole.slice(1_000..3_000), Bytes::new(), whole.slice(4_000..4_005)];
        let mut moved = parts.clone();
        unshare_all(&mut moved);
        assert_eq!(moved, parts);
        assert_eq!(moved[1].as_ptr(), parts[1].as_ptr());
        assert_ne!(moved[0].as_ptr(), parts[0].as_ptr());
        assert_eq!(moved[3].as_ptr(), moved[0].as_ptr().wrapping_add(3));
    }
}
