//! What keeps a part of a record alive.

use bytes::Bytes;

/// `part`, which lies in `record`, as bytes of its own. It shares the record's bytes if it is at least half of them, so
/// that what is kept never holds more than twice its own size.
pub fn retain(part: &[u8], record: &Bytes) -> Bytes {
    match part.len() >= record.len().div_ceil(2) {
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
        assert_eq!(retain(&record[50..], &record).as_ptr(), record[50..].as_ptr());
        assert_ne!(retain(&record[51..], &record).as_ptr(), record[51..].as_ptr());
        assert_eq!(retain(&[], &Bytes::new()), Bytes::new());
    }
}
