//! TensorFlow's oldest string hash, a form of MurmurHash64A with a fixed seed.
//!
//! Source: Austin Appleby, MurmurHash2 (2008), with the seed of `tf.string_to_hash_bucket` in
//! TensorFlow 1.15.

const SEED: u64 = 0xDE_CAFC_AFFE;
const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
const SHIFT: u32 = 47;

/// The hash of some bytes.
pub fn hash(bytes: &[u8]) -> u64 {
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let mut word = u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        word ^= word >> SHIFT;
        hash = (hash ^ word.wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        hash ^= rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        hash = hash.wrapping_mul(MULTIPLIER);
    }
    hash ^= hash >> SHIFT;
    hash = hash.wrapping_mul(MULTIPLIER);
    hash ^ hash >> SHIFT
}
