//! `StringToHashBucketFast`, `StringToHashBucketStrong` and `StringToHashBucket`: assign each
//! string to a numbered bucket.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::{Attr, Attrs};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::text::{farmhash, murmur};
use siphasher::sip::SipHasher24;

/// The hash of each string, modulo the number of buckets.
pub struct HashBucket {
    num_buckets: u64,
    hash: Hash,
}

enum Hash {
    Farm,
    Murmur,
    /// SipHash-2-4 with a key.
    Sip(SipHasher24),
}

impl HashBucket {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(op_type: &str, attrs: &Attrs) -> Result<Self> {
        let hash = match op_type {
            "StringToHashBucketFast" => Hash::Farm,
            "StringToHashBucketStrong" => Hash::Sip(keyed(attrs)?),
            _ => Hash::Murmur,
        };
        let num_buckets = attrs.int("num_buckets")?;
        match u64::try_from(num_buckets) {
            Ok(num_buckets) if num_buckets > 0 => Ok(Self { num_buckets, hash }),
            _ => Err(Error::invalid_argument(format!("num_buckets is {num_buckets}, expected at least 1"))),
        }
    }
}

impl Kernel for HashBucket {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [strings] = expect_inputs(&inputs)?;
        let hash = |string: &[u8]| match &self.hash {
            Hash::Farm => farmhash::fingerprint(string),
            Hash::Murmur => murmur::hash(string),
            Hash::Sip(hasher) => hasher.hash(string),
        };
        let buckets = strings.string_values().iter().map(|string| (hash(string) % self.num_buckets) as i64);
        let buckets = allocate::elements(DType::Int64, strings.shape()).collect(buckets)?;
        Tensor::from_values(strings.shape().clone(), buckets).map(Step::one)
    }
}

/// Creates the hasher with an operation's key.
fn keyed(attrs: &Attrs) -> Result<SipHasher24> {
    let number = |attr: &Attr| if let Attr::Int(number) = attr { Some(number.cast_unsigned()) } else { None };
    let text = "Key must have 2 elements";
    let [low, high]: [u64; 2] = attrs.list("key", number)?.try_into().map_err(|_| Error::invalid_argument(text))?;
    Ok(SipHasher24::new_with_keys(low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{attrs, run_one};
    use crate::tensor::shape::Shape;
    use bytes::Bytes;

    fn bucket(num_buckets: i64) -> Result<HashBucket> {
        HashBucket::from_attrs("StringToHashBucketFast", &attrs([("num_buckets", Attr::Int(num_buckets))]))
    }

    /// The buckets of `tf.string_to_hash_bucket_fast` for the shortest and longest strings of each
    /// length class.
    #[test]
    fn buckets_match_tensorflow() {
        let lengths = [0, 1, 3, 4, 7, 8, 16, 17, 32, 33, 64, 65, 127, 128, 129, 192, 193, 200];
        let letters: Vec<u8> = (0..200).map(|index| b'a' + index % 26).collect();
        let strings = lengths.map(|length| Bytes::copy_from_slice(&letters[..length])).to_vec();
        let strings = Tensor::strings(Shape::new(&[lengths.len()]), strings).unwrap();
        let buckets = run_one(&bucket(1 << 62).unwrap(), &[strings]).unwrap();
        assert_eq!(
            buckets.values::<i64>().unwrap(),
            [
                1_936_946_117_179_621_455,
                3_694_432_073_954_588_131,
                2_640_714_258_260_161_385,
                1_897_425_971_756_105_985,
                4_341_691_227_789_030_229,
                4_533_385_575_889_643_785,
                1_469_030_743_107_030_717,
                2_171_023_947_900_359_592,
                4_582_052_690_787_775_898,
                2_004_761_416_539_416_594,
                2_038_540_033_609_931_770,
                2_608_948_203_458_330_154,
                3_184_459_357_717_823_395,
                226_390_950_763_841_354,
                1_953_612_634_356_772_820,
                2_631_630_715_530_494_583,
                3_513_998_902_259_471_211,
                2_725_806_534_515_858_166
            ]
        );
    }

    #[test]
    fn at_least_one_bucket_is_required() {
        let text = bucket(0).map(drop).unwrap_err();
        assert_eq!(format!("{text:?}"), "InvalidArgument: num_buckets is 0, expected at least 1");
    }
    /// The example in SipHash's paper, and the first test vectors of its authors' program.
    #[test]
    fn strong_hashes_match_the_siphash_paper() {
        let numbers = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908].map(Attr::Int);
        let hasher = keyed(&attrs([("key", Attr::List(numbers.to_vec()))])).unwrap();
        let bytes: Vec<u8> = (0..15).collect();
        assert_eq!(hasher.hash(&bytes), 0xa129_ca61_49be_45e5);
        assert_eq!(hasher.hash(&[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(hasher.hash(&bytes[..8]), 0x93f5_f579_9a93_2462);
    }
}
