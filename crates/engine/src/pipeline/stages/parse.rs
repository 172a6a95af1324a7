//! Serialized `Example`s to columns.

use crate::error::{Error, Result};
use crate::kernels::attrs::Attrs;
use crate::kernels::records::parse_example::{Column as Values, Example, Feature, Features};
use crate::pipeline::block::{Block, Origins};
use crate::pipeline::column::{Column, Ragged, look_ahead};
use crate::pipeline::nodes::map::Stage;
use crate::pipeline::rows::Rows;
use crate::tensor::Tensor;
use bytes::Bytes;

/// So many records are looked at before the first of them is parsed; a near cache holds as many.
const LOOKED_AHEAD: usize = 16;

/// Replaces the column of records by one for each feature: first those that are lists, then those of one shape.
pub struct Parse {
    features: Features,
    defaults: Vec<Tensor>,
    record: usize,
    /// The other columns that are kept.
    kept: Vec<usize>,
}

impl Parse {
    /// `defaults` has one tensor for each feature of one shape: empty if it is required.
    fn with_features(features: Features, defaults: Vec<Tensor>, record: usize, kept: Vec<usize>) -> Result<Self> {
        features.check_defaults(&defaults)?;
        Ok(Self { features, defaults, record, kept })
    }

    /// With the attributes `sparse_keys`, `sparse_types`, `dense_keys`, `dense_types` and `dense_shapes`.
    pub fn new(attrs: &Attrs, defaults: Vec<Tensor>, record: usize, kept: Vec<usize>) -> Result<Self> {
        Self::with_features(Features::from_attrs(attrs, "")?, defaults, record, kept)
    }

    fn parse(&self, example: &Example, sparse: &mut [Values], dense: &mut [Values]) -> Result<()> {
        let found = self.features.find(example.bytes).map_err(|error| example.named(error))?;
        for ((feature, found), column) in self.features.with_sparse(&found).zip(sparse) {
            column.push_sparse(feature, Feature::parse(found.unwrap_or_default())?, example)?;
        }
        for (((feature, found), default), column) in self.features.with_dense(&found).zip(&self.defaults).zip(dense) {
            column.push_dense(feature, Feature::parse(found.unwrap_or_default())?, default, example)?;
        }
        Ok(())
    }

    /// The error again, with the file and the record in it.
    fn named(&self, rows: &Rows, index: usize, bytes: &Bytes, error: Error) -> Error {
        let Some(origin) = rows.origin(index) else { return error };
        let name = Bytes::from(origin.to_string());
        let example = Example { bytes, index, name: Some(&name) };
        let again = self.columns().and_then(|(mut sparse, mut dense)| self.parse(&example, &mut sparse, &mut dense));
        again.err().unwrap_or(error)
    }

    fn columns(&self) -> Result<(Vec<Values>, Vec<Values>)> {
        let sparse = self.features.sparse.iter().map(|feature| Values::new(feature.dtype)).collect::<Result<_>>()?;
        let dense = self.features.dense.iter().map(|feature| Values::new(feature.dtype)).collect::<Result<_>>()?;
        Ok((sparse, dense))
    }
}

impl Stage for Parse {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let (mut sparse, mut dense) = self.columns()?;
        let records = rows.strings(self.record)?;
        for (index, bytes) in records.iter().enumerate() {
            if index.is_multiple_of(LOOKED_AHEAD) {
                look_ahead(records[index..].iter().take(LOOKED_AHEAD).map(|record| &record[..]));
            }
            let example = Example { bytes, index, name: None };
            self.parse(&example, &mut sparse, &mut dense).map_err(|error| self.named(&rows, index, bytes, error))?;
        }
        let mut columns = self.kept.iter().map(|column| rows.gather_column(*column)).collect::<Result<Vec<_>>>()?;
        for values in sparse {
            let (values, ends) = values.into_lists()?;
            columns.push(Column::Ragged(Ragged::new(values, ends)));
        }
        for ((feature, values), default) in self.features.dense.iter().zip(dense).zip(&self.defaults) {
            columns.push(Column::Dense(values.into_dense(feature, default)?));
        }
        Block::new(columns, rows.len(), Origins::of(rows)).map(Rows::all)
    }

    fn keeps_count(&self) -> bool {
        true
    }
}
