//! All requested features, and how to find them in the bytes of an Example.

use super::feature::{DenseFeature, SparseFeature};
use super::values::Values;
use super::wire::for_each_feature;
use crate::error::{Error, Result};
use crate::kernels::attrs::{Attr, Attrs};
use crate::order;
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::tensor::shape::PartialShape;
use crate::text::excerpt::excerpt;
use smallvec::SmallVec;
use std::cmp::Ordering;

/// The largest table of keys that is searched linearly. Larger ones use binary search.
const MAX_SCANNED: usize = 8;

/// The requested features, with a table of their keys.
pub struct Features {
    /// The features with any number of values.
    pub sparse: Vec<SparseFeature>,
    /// The features with a fixed shape.
    pub dense: Vec<DenseFeature>,
    /// Each key with its slot, in the order of [`compare`]. The sparse features have the first
    /// slots.
    table: Vec<(Vec<u8>, usize)>,
}

/// The bytes of a message's features (or feature lists), by slot.
pub struct FeatureBytes<'a>(SmallVec<[Option<&'a [u8]>; 8]>);

impl Features {
    /// Reads the attributes whose names begin with `prefix`.
    pub fn from_attrs(attrs: &Attrs, prefix: &str) -> Result<Self> {
        let name = |suffix: &str| format!("{prefix}{suffix}");
        let (sparse_keys, sparse_types) = (keys(attrs, &name("sparse_keys"))?, types(attrs, &name("sparse_types"))?);
        let (dense_keys, dense_types) = (keys(attrs, &name("dense_keys"))?, types(attrs, &name("dense_types"))?);
        let shapes = shapes(attrs, &name("dense_shapes"))?;
        if sparse_keys.len() != sparse_types.len() || [dense_types.len(), shapes.len()] != [dense_keys.len(); 2] {
            return Err(Error::internal("an Example has different numbers of feature keys, types and shapes"));
        }
        let table = table(sparse_keys.iter().chain(&dense_keys))?;
        let sparse = sparse_keys.into_iter().zip(sparse_types);
        let dense = dense_keys.into_iter().zip(dense_types).zip(shapes);
        Ok(Self {
            sparse: sparse.map(|(key, dtype)| SparseFeature { key, dtype }).collect(),
            dense: dense.map(|((key, dtype), shape)| DenseFeature::new(key, dtype, shape)).collect::<Result<_>>()?,
            table,
        })
    }

    /// The number of outputs.
    pub fn num_outputs(&self) -> usize {
        self.num_sparse_outputs() + self.dense.len()
    }

    /// The number of outputs for sparse features, which are indices, values and shapes.
    pub fn num_sparse_outputs(&self) -> usize {
        3 * self.sparse.len()
    }

    /// Finds the features in a serialized Example. If a key occurs more than once, the last one
    /// with a list counts.
    pub fn find<'a>(&self, example: &'a [u8]) -> Result<FeatureBytes<'a>> {
        let mut feature_bytes = self.nothing();
        let is_well_formed = for_each_feature(example, |key, feature| {
            if !feature.is_empty() {
                self.note(key, feature, &mut feature_bytes);
            }
        });
        is_well_formed.ok_or_else(|| malformed(example))?;
        Ok(feature_bytes)
    }

    /// An empty result.
    #[expect(clippy::disallowed_methods, reason = "one for each feature")]
    pub fn nothing<'a>(&self) -> FeatureBytes<'a> {
        FeatureBytes(SmallVec::from_elem(None, self.table.len()))
    }

    /// If `key` is requested, stores `value` in its slot, replacing any earlier value.
    pub fn note<'a>(&self, key: &[u8], value: &'a [u8], feature_bytes: &mut FeatureBytes<'a>) {
        if let Some(slot) = self.slot(key) {
            feature_bytes.0[slot] = Some(value);
        }
    }

    /// Iterates over the sparse features, with the bytes of those that are present.
    pub fn with_sparse<'f, 'a>(
        &'f self,
        feature_bytes: &'f FeatureBytes<'a>,
    ) -> impl Iterator<Item = (&'f SparseFeature, Option<&'a [u8]>)> {
        self.sparse.iter().zip(feature_bytes.0.iter().copied())
    }

    /// Iterates over the dense features, with the bytes of those that are present.
    pub fn with_dense<'f, 'a>(
        &'f self,
        feature_bytes: &'f FeatureBytes<'a>,
    ) -> impl Iterator<Item = (&'f DenseFeature, Option<&'a [u8]>)> {
        self.dense.iter().zip(feature_bytes.0[self.sparse.len()..].iter().copied())
    }

    fn slot(&self, key: &[u8]) -> Option<usize> {
        if self.table.len() > MAX_SCANNED {
            let index = self.table.binary_search_by(|(other, _)| compare(other, key)).ok()?;
            return Some(self.table[index].1);
        }
        // Most keys differ in length or in the first byte.
        let is_like = |other: &[u8]| other.len() == key.len() && other.first() == key.first();
        self.table.iter().find(|(other, _)| is_like(other) && other == key).map(|(_, slot)| *slot)
    }

    /// Checks the default tensors, one per dense feature.
    pub fn check_defaults(&self, defaults: &[Tensor]) -> Result<()> {
        let (got, expected) = (defaults.len(), self.dense.len());
        if got != expected {
            let text = format!("Expected len(dense_defaults) == len(dense_keys) but got: {got} vs. {expected}");
            return Err(Error::invalid_argument(text));
        }
        let mut pairs = self.dense.iter().zip(defaults).enumerate();
        pairs.try_for_each(|(index, (feature, default))| feature.check_default(index, default))
    }
}

/// A list of keys.
pub fn keys(attrs: &Attrs, name: &str) -> Result<Vec<String>> {
    attrs.list(name, |item| match item {
        Attr::String(key) => Some(key.clone()),
        _ => None,
    })
}

/// Reads a list of dtypes. Fails if features cannot have one of them.
fn types(attrs: &Attrs, name: &str) -> Result<Vec<DType>> {
    let types = attrs.list(name, |item| match item {
        Attr::DType(dtype) => Some(*dtype),
        _ => None,
    })?;
    types.iter().try_for_each(|dtype| Values::new(*dtype).map(drop))?;
    Ok(types)
}

fn shapes(attrs: &Attrs, name: &str) -> Result<Vec<PartialShape>> {
    attrs.list(name, |item| match item {
        Attr::Shape(shape) => shape.clone(),
        _ => None,
    })
}

fn table<'a>(keys: impl Iterator<Item = &'a String>) -> Result<Vec<(Vec<u8>, usize)>> {
    let keys: Vec<_> = keys.map(String::as_bytes).collect();
    let slots = order::by(keys.len(), &|x, y| compare(keys[x], keys[y]));
    let table: Vec<_> = slots.into_iter().map(|slot| (keys[slot].to_vec(), slot)).collect();
    match table.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => {
            let key = String::from_utf8_lossy(&pair[0].0);
            Err(Error::invalid_argument(format!("feature '{key}' is requested twice")))
        }
        None => Ok(table),
    }
}

/// Compares by length first, because most keys differ in length.
fn compare(x: &[u8], y: &[u8]) -> Ordering {
    x.len().cmp(&y.len()).then_with(|| x.cmp(y))
}

/// The error for bytes that are not an Example.
pub fn malformed(example: &[u8]) -> Error {
    Error::invalid_argument(format!(
        "Could not parse example input, value: '{}'. Check that the file contains such messages, and check its \
         compression",
        excerpt(example)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::records::parse_example::testing::{asking_for, example, int64s, strings};

    fn features() -> Features {
        let sparse = [("b", DType::Int64), ("long", DType::String)];
        Features::from_attrs(&asking_for(&sparse, &[("a", DType::Int64, &[]), ("c", DType::Int64, &[])]), "").unwrap()
    }

    #[test]
    fn features_are_found_by_key_in_any_order() {
        let bytes = example(&[("x", int64s(&[1])), ("long", strings(&[b"v"])), ("c", vec![]), ("a", int64s(&[]))]);
        let features = features();
        let feature_bytes = features.find(&bytes).unwrap();
        let sparse: Vec<_> =
            features.with_sparse(&feature_bytes).map(|(feature, bytes)| (&feature.key[..], bytes)).collect();
        assert_eq!(sparse, [("b", None), ("long", Some(&strings(&[b"v"])[..]))]);
        let dense: Vec<_> =
            features.with_dense(&feature_bytes).map(|(feature, bytes)| (&feature.key[..], bytes)).collect();
        assert_eq!(dense, [("a", Some(&int64s(&[])[..])), ("c", None)]);
    }

    #[test]
    fn features_are_looked_up_in_small_and_large_tables() {
        for count in [1, MAX_SCANNED, MAX_SCANNED + 1, 40] {
            let keys: Vec<String> = (0..count).map(|number| format!("{}{number}", "k".repeat(number % 3))).collect();
            let requested: Vec<_> = keys.iter().map(|key| (&key[..], DType::Int64, &[][..])).collect();
            let features = Features::from_attrs(&asking_for(&[], &requested), "").unwrap();
            let slots: Vec<_> = keys.iter().map(|key| features.slot(key.as_bytes())).collect();
            assert_eq!(slots, (0..count).map(Some).collect::<Vec<_>>());
            assert_eq!(["", "k", "x0", "kk"].map(|key| features.slot(key.as_bytes())), [None; 4]);
        }
    }

    #[test]
    fn duplicate_key_uses_the_last_feature_that_has_a_list() {
        let bytes = example(&[("a", strings(&[])), ("a", int64s(&[1])), ("a", vec![])]);
        let features = features();
        let feature_bytes = features.find(&bytes).unwrap();
        assert_eq!(features.with_dense(&feature_bytes).next().unwrap().1, Some(&int64s(&[1])[..]));
    }

    #[test]
    fn error_shows_an_excerpt_of_malformed_bytes() {
        let text = |bytes: &[u8]| format!("{:?}", features().find(bytes).map(drop).unwrap_err());
        assert_eq!(
            text(b"\x0a\x02a"),
            "InvalidArgument: Could not parse example input, value: '\\n\\x02a'. Check that the file contains such \
             messages, and check its compression"
        );
        let long = text(&[b'\x0b'; 1000]);
        assert!(long.contains("\\x0b... (1000 bytes)'. Check"), "{long}");
    }

    #[test]
    fn invalid_requests_are_rejected() {
        let text = |attrs| format!("{:?}", Features::from_attrs(&attrs, "").map(drop).unwrap_err());
        assert_eq!(
            text(asking_for(&[("a", DType::Int64)], &[("a", DType::Int64, &[])])),
            "InvalidArgument: feature 'a' is requested twice"
        );
        assert_eq!(text(asking_for(&[("a", DType::Int32)], &[])), "InvalidArgument: Invalid config dtype: int32");
    }

    #[test]
    fn missing_dense_defaults_are_rejected() {
        let text = features().check_defaults(&[]).unwrap_err();
        assert_eq!(text.message(), "Expected len(dense_defaults) == len(dense_keys) but got: 0 vs. 2");
    }
}
