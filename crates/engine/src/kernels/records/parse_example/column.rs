//! The values of one feature in many Examples.

use super::feature::{DenseFeature, Extent, SparseFeature};
use super::values::{Joined, MALFORMED_LIST, Record, Values};
use super::wire::Feature;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use bytes::Bytes;

const SMALL_BYTES: usize = 1 << 20;

/// The Example that is being parsed.
pub struct Example<'a> {
    /// The serialized message.
    pub record: Record<'a>,
    /// The position in the batch, for error messages.
    pub index: usize,
    /// The name for error messages.
    pub name: Option<&'a Bytes>,
}

impl Example<'_> {
    fn name(&self) -> String {
        self.name.map_or("<unknown>".to_owned(), |name| String::from_utf8_lossy(name).into_owned())
    }

    /// Adds the name of the Example, if it has one, to an error about the whole Example.
    pub fn named(&self, error: Error) -> Error {
        match self.name {
            Some(_) => Error::new(error.code(), format!("Name: {}, {}", self.name(), error.message())),
            None => error,
        }
    }

    fn failure(&self, key: &str, text: &str) -> Error {
        let (name, index) = (self.name(), self.index);
        Error::invalid_argument(format!("Name: {name}, Key: {key}, Index: {index}.  {text}"))
    }
}

/// The values of one feature in all Examples so far.
pub struct Column {
    values: Values,
    /// Where each Example's values end.
    ends: Vec<usize>,
}

impl Column {
    /// Creates a column without rows. Fails if features cannot have this dtype.
    pub fn new(dtype: DType) -> Result<Self> {
        Ok(Self { values: Values::new(dtype)?, ends: Vec::new() })
    }

    /// Like [`Column::new`], but stores strings end to end.
    pub fn joined(dtype: DType) -> Result<Self> {
        Ok(Self { values: Values::joined(dtype)?, ends: Vec::new() })
    }

    /// Appends the feature of the next Example.
    pub fn push_sparse(&mut self, feature: &SparseFeature, encoded: Option<Feature>, example: &Example) -> Result<()> {
        if let Some(encoded) = encoded {
            feature.check_type(encoded.dtype).map_err(|misfit| example.failure(&feature.key, &misfit))?;
            self.decode(&feature.key, encoded, example)?;
        }
        self.end_row();
        Ok(())
    }

    /// Appends the feature of the next Example, or the default.
    pub fn push_dense(
        &mut self,
        feature: &DenseFeature,
        encoded: Option<Feature>,
        default: &Tensor,
        example: &Example,
    ) -> Result<()> {
        match (encoded, &feature.extent) {
            (Some(encoded), _) => {
                feature.check_type(encoded.dtype).map_err(|misfit| example.failure(&feature.key, &misfit))?;
                let count = self.decode(&feature.key, encoded, example)?;
                feature.check_count(count).map_err(|misfit| example.failure(&feature.key, &misfit))?;
            }
            (None, Extent::Rows(_)) => {}
            (None, Extent::Fixed(_)) if default.num_elements() == 0 => {
                let text = format!("Name: {}, {}", example.name(), feature.missing(example.record.bytes()));
                return Err(Error::invalid_argument(text));
            }
            (None, Extent::Fixed(_)) => self.values.extend_from_tensor(default)?,
        }
        self.end_row();
        Ok(())
    }

    fn decode(&mut self, key: &str, encoded: Feature, example: &Example) -> Result<usize> {
        self.push(encoded, example.record).ok_or_else(|| example.failure(key, MALFORMED_LIST))
    }

    /// Appends the values of `encoded`, which has the column's dtype and lies inside `record`, to
    /// the current row. Returns their number, or `None` if they are malformed.
    pub fn push<'a>(&mut self, encoded: Feature, record: impl Into<Record<'a>>) -> Option<usize> {
        let before = self.values.len();
        self.values.decode(encoded, record.into())?;
        Some(self.values.len() - before)
    }

    /// Fails if there is not enough memory for the values of a message.
    pub fn check_room(&self, message: &[u8]) -> Result<()> {
        // The values grow by doubling. Small amounts of memory need no check.
        let num_bytes = self.values.most_bytes(message).saturating_mul(2);
        if num_bytes < SMALL_BYTES {
            return Ok(());
        }
        allocate::probe(num_bytes).map_err(|refusal| refusal.at("the values of a feature"))
    }

    /// Ends a row, which consists of the values added since the previous row.
    pub fn end_row(&mut self) {
        self.ends.push(self.values.len());
    }

    /// Iterates over the number of values in each Example.
    fn lengths(&self) -> impl Iterator<Item = usize> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| end - start)
    }

    fn longest(&self) -> usize {
        self.lengths().max().unwrap_or(0)
    }

    /// Returns the indices of the values: the number of the Example, and the number of the value
    /// within it.
    pub fn indices(&self) -> Result<Tensor> {
        let rows = self.lengths().enumerate();
        let indices = rows.flat_map(|(row, length)| (0..length).flat_map(move |column| [row as i64, column as i64]));
        let shape = Shape::new(&[self.values.len(), 2]);
        let indices = allocate::elements(DType::Int64, &shape).collect(indices)?;
        Tensor::from_values(shape, indices)
    }

    /// Returns the number of Examples and the length of the longest list.
    pub fn dense_shape(&self) -> Result<Tensor> {
        Tensor::from_values(Shape::new(&[2]), vec![self.ends.len() as i64, self.longest() as i64])
    }

    /// Returns only the values, as a vector.
    pub fn into_values(self) -> Result<Tensor> {
        let shape = Shape::new(&[self.values.len()]);
        self.values.into_tensor(shape)
    }

    /// Returns the values as a vector, and where each Example's values end.
    pub fn into_lists(self) -> Result<(Tensor, Vec<usize>)> {
        let shape = Shape::new(&[self.values.len()]);
        Ok((self.values.into_tensor(shape)?, self.ends))
    }

    /// Reserves memory for `num_rows` rows of the average size so far, but for at most `most`
    /// values or bytes of joined strings.
    pub fn expect_rows(&mut self, num_rows: usize, most: usize) -> std::result::Result<(), allocate::Refusal> {
        let num_before = self.ends.len();
        self.values.expect_times((num_rows / num_before.max(1)).saturating_sub(1), most)?;
        allocate::reserve(&mut self.ends, num_rows.saturating_sub(num_before))
    }

    /// Returns the strings, if they are stored end to end.
    pub fn into_joined(self) -> std::result::Result<Joined, Self> {
        match self.values {
            Values::Joined(joined) => Ok(joined),
            values => Err(Self { values, ..self }),
        }
    }

    /// Returns the values as rows of a fixed shape.
    pub fn into_rows(self, row: &Shape) -> Result<Tensor> {
        let shape = row.batched(self.ends.len());
        self.values.into_tensor(shape)
    }

    /// Returns the values of a dense feature, one row per Example.
    pub fn into_dense(self, feature: &DenseFeature, default: &Tensor) -> Result<Tensor> {
        let num_examples = self.ends.len();
        match &feature.extent {
            Extent::Fixed(shape) => self.into_rows(shape),
            Extent::Rows(row) => {
                let longest = self.longest();
                let shape = row.batched(longest / row.num_elements()).batched(num_examples);
                self.values.into_padded(shape, &self.ends, longest, default)
            }
        }
    }
}
