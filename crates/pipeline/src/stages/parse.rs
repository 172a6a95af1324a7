//! Parses serialized `Example`s into columns.

use crate::blocks::block::{Block, Provenance};
use crate::blocks::column::{Column, Ragged, Text, look_ahead};
use crate::blocks::rows::Rows;
use crate::stages::seen_components::{MOST_NAMES, SeenComponents};
use crate::stages::{Stage, text};
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::kernels::attrs::Attrs;
use headrace_engine::kernels::records::parse_example::{
    Column as Values, DenseFeature, Example, Extent, Feature, Features, Record, for_each_feature,
};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use std::sync::Arc;

/// How to fix strings that are not valid text.
const REMEDY: &str = "Correct the record, or read the feature as bytes.";

/// How many records to prefetch before the first one is parsed. They fit into the CPU cache.
const LOOKED_AHEAD: usize = 16;

/// Strings are copied out of records up to this average size. Strings of larger records keep the
/// records alive, because counting references is cheaper than copying.
const MAX_COPIED_BYTES: usize = 4096;

/// Replaces the column of records with one column per feature: first lists, then features with a
/// fixed shape.
pub struct Parse {
    features: Features,
    defaults: Vec<Tensor>,
    record: usize,
    /// The other columns to keep.
    kept: Vec<usize>,
    /// True if each Example has exactly one string in each list, so that they can be copied end to
    /// end.
    may_join: bool,
    /// The number and name of each new column whose strings must be valid UTF-8.
    texts: Vec<(usize, String)>,
    seen_components: Arc<SeenComponents>,
}

/// The features of the Examples parsed so far: lists, and features with a fixed shape.
struct Parsed {
    sparse: Vec<Values>,
    dense: Vec<Values>,
    /// For each list, whether it has occurred.
    seen: Vec<bool>,
}

impl Parse {
    /// Parses these features. `defaults` has one tensor for each feature with a fixed shape, which
    /// is empty if the feature is required.
    fn with_features(features: Features, defaults: Vec<Tensor>, record: usize, kept: Vec<usize>) -> Result<Self> {
        features.check_defaults(&defaults)?;
        let is_one = |feature: &DenseFeature| matches!(&feature.extent, Extent::Fixed(shape) if shape.is_empty());
        let may_join = features.sparse.iter().all(|feature| feature.dtype != DType::String)
            && features.dense.iter().all(|feature| feature.dtype != DType::String || is_one(feature));
        let (texts, seen_components) = (Vec::new(), SeenComponents::new());
        Ok(Self { features, defaults, record, kept, may_join, texts, seen_components })
    }

    /// Sets the names of features whose strings must be valid UTF-8.
    pub fn with_texts(mut self, names: &[String]) -> Self {
        let Features { sparse, dense, .. } = &self.features;
        let keys = sparse.iter().map(|feature| &feature.key).chain(dense.iter().map(|feature| &feature.key));
        self.texts = keys.cloned().enumerate().filter(|(_, key)| names.contains(key)).collect();
        self
    }

    /// Records which lists have occurred.
    pub fn seen_by(mut self, seen_components: Arc<SeenComponents>) -> Self {
        self.seen_components = seen_components;
        self
    }

    /// Parses the attributes `sparse_keys`, `sparse_types`, `dense_keys`, `dense_types` and
    /// `dense_shapes`.
    pub fn new(attrs: &Attrs, defaults: Vec<Tensor>, record: usize, kept: Vec<usize>) -> Result<Self> {
        Self::with_features(Features::from_attrs(attrs, "")?, defaults, record, kept)
    }

    fn parse(&self, example: &Example, parsed: &mut Parsed) -> Result<()> {
        let feature_bytes = self.features.find(example.record.bytes()).map_err(|error| example.named(error))?;
        let lists = self.features.with_sparse(&feature_bytes).zip(&mut parsed.sparse).zip(&mut parsed.seen);
        for (((feature, bytes), column), is_seen) in lists {
            *is_seen |= bytes.is_some();
            column.push_sparse(feature, Feature::parse(bytes.unwrap_or_default())?, example)?;
        }
        let dense = self.features.with_dense(&feature_bytes).zip(&self.defaults).zip(&mut parsed.dense);
        for (((feature, bytes), default), column) in dense {
            column.push_dense(feature, Feature::parse(bytes.unwrap_or_default())?, default, example)?;
        }
        Ok(())
    }

    /// Parses all records. `bytes_of` and `record_of` return the record for an item.
    fn parse_all<'r, T>(
        &self,
        rows: &Rows,
        records: &'r [T],
        bytes_of: impl Fn(&'r T) -> &'r [u8],
        record_of: impl Fn(&'r T) -> Record<'r>,
        mut parsed: Parsed,
    ) -> Result<Parsed> {
        for (index, item) in records.iter().enumerate() {
            if index.is_multiple_of(LOOKED_AHEAD) {
                look_ahead(records[index..].iter().take(LOOKED_AHEAD).map(&bytes_of));
            }
            let example = Example { record: record_of(item), index, name: None };
            self.parse(&example, &mut parsed).map_err(|error| self.named(rows, index, bytes_of(item), error))?;
            if index == 0 {
                self.expect_rows(&mut parsed, rows)?;
            }
        }
        if let Some(first) = records.first()
            && !self.seen_components.is_done()
        {
            let names = self.features.sparse.iter().map(|feature| &feature.key[..]);
            let seen = names.zip(parsed.seen.iter().copied());
            self.seen_components.add(records.len(), seen, || feature_names(bytes_of(first)));
        }
        Ok(parsed)
    }

    /// Adds the file and the record to an error.
    fn named(&self, rows: &Rows, index: usize, bytes: &[u8], error: Error) -> Error {
        let Some(row_provenance) = rows.row_provenance(index) else { return error };
        let name = Bytes::from(row_provenance.to_string());
        let example = Example { record: Record::Lent(bytes), index, name: Some(&name) };
        let again = self.parsed(Values::new).and_then(|mut parsed| self.parse(&example, &mut parsed));
        again.err().unwrap_or(error)
    }

    fn parsed(&self, column: impl Fn(DType) -> Result<Values>) -> Result<Parsed> {
        let sparse = self.features.sparse.iter().map(|feature| column(feature.dtype)).collect::<Result<_>>()?;
        let dense = self.features.dense.iter().map(|feature| column(feature.dtype)).collect::<Result<_>>()?;
        let seen = self.features.sparse.iter().map(|_| false).collect();
        Ok(Parsed { sparse, dense, seen })
    }

    /// Reserves memory for the remaining rows, estimated from the first of them.
    fn expect_rows(&self, parsed: &mut Parsed, rows: &Rows) -> Result<()> {
        let most = rows.num_bytes();
        for (feature, values) in self.features.dense.iter().zip(&mut parsed.dense) {
            if let Extent::Fixed(_) = feature.extent {
                values.expect_rows(rows.len(), most).map_err(|refusal| refusal.at(&feature.key))?;
            }
        }
        Ok(())
    }

    /// Returns the columns of the features.
    fn columns(&self, parsed: Parsed) -> Result<Vec<Column>> {
        let mut columns = Vec::new();
        for values in parsed.sparse {
            let (values, ends) = values.into_lists()?;
            columns.push(Column::Ragged(Ragged::new(values, ends)));
        }
        for ((feature, values), default) in self.features.dense.iter().zip(parsed.dense).zip(&self.defaults) {
            columns.push(match values.into_joined() {
                Ok(joined) => Column::Text(Text::joined_of(joined.bytes.into(), &joined.ends)),
                Err(values) => Column::Dense(values.into_dense(feature, default)?),
            });
        }
        Ok(columns)
    }
}

/// Returns the names of an Example's features.
fn feature_names(example: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    let _ = for_each_feature(example, |key, _| {
        if names.len() < MOST_NAMES {
            names.push(String::from_utf8_lossy(key).into_owned());
        }
    });
    names
}

impl Stage for Parse {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let parsed = match self.may_join && rows.num_bytes() <= MAX_COPIED_BYTES * rows.len() {
            true => {
                let records = rows.lent_strings(self.record)?;
                self.parse_all(
                    &rows,
                    &records,
                    |bytes| bytes,
                    |bytes| Record::Lent(bytes),
                    self.parsed(Values::joined)?,
                )?
            }
            false => {
                let records = rows.strings(self.record)?;
                self.parse_all(&rows, &records, |bytes| bytes, Record::from, self.parsed(Values::new)?)?
            }
        };
        let mut columns = rows.gather_columns(self.kept.iter().copied())?;
        let columns_of_features = self.columns(parsed)?;
        for (number, name) in &self.texts {
            for row in 0..rows.len() {
                text::check(&columns_of_features[*number], row, name, REMEDY)
                    .map_err(|error| text::at(&rows, row, &error))?;
            }
        }
        columns.extend(columns_of_features);
        Block::new(columns, rows.len(), Provenance::of(rows)).map(Rows::all)
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}
