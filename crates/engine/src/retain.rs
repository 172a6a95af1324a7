//! What keeps a part of a record alive.

use bytes::Bytes;

/// Whether a part shares the memory of the whole: if it is at least four fifths of it. A part may be taken of a part, of
/// a feature the pixels and of them a window, so that a part of a part of a part still holds no more than about twice its
/// own size.
pub fn is_to_share(part_bytes: usize, whole_bytes: usize) -> bool {
    part_bytes >= whole_bytes - whole_bytes / 5
}

/// `part`, which lies in `record`, as bytes of its own; they may be the record's, see [`is_to_share`].
pub fn retain(part: &[u8], record: &Bytes) -> Bytes {
    match is_to_share(part.len(), record.len()) {
        true => record.slice_ref(part),
        false => Bytes::copy_from_slice(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_part_shares_the_record_and_a_small_one_does_not() {
        let record = Bytes::from(vec![7; 100]);
        assert_eq!(retain(&record[20..], &record).as_ptr(), record[20..].as_ptr());
        assert_ne!(retain(&record[21..], &record).as_ptr(), record[21..].as_ptr());
        assert_eq!(retain(&[], &Bytes::new()), Bytes::new());
    }
}
