//! Tables that programs change while they run.
//!
//! Source: `tf.contrib.lookup.MutableHashTable` in TensorFlow 1.15. Its export order differs from
//! run to run; here it is the order of the keys.

use bytes::Bytes;
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::order;
use headrace_engine::saved::{self, Chunks, Content, Reading, Restore, SavedChunks};
use headrace_engine::sync::Mutex;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use std::collections::HashMap;
use std::sync::Arc;

/// A mutable table. Any thread may use it, and calls are atomic.
pub struct MutableTable {
    key: DType,
    value: DType,
    /// The shape of each value.
    row: Shape,
    entries: Mutex<Entries>,
}

/// The approximate memory of an entry in bytes, not counting its key and value.
const ENTRY_BYTES: usize = 256;

fn no_room(num_entries: usize) -> Error {
    Error::new(Code::ResourceExhausted, format!("a lookup table has no memory for {num_entries} more entries"))
        .with_remedy("Insert fewer entries, or use a machine with more memory.")
}

/// The value of each key.
type Entries = HashMap<Key, Tensor>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Key {
    Integer(i64),
    String(Bytes),
}

impl MutableTable {
    /// Creates an empty table. Keys are strings, int32 or int64, and values have the shape `row`.
    pub fn new(key: DType, value: DType, row: Shape) -> Result<Self> {
        if matches!(key, DType::String | DType::Int32 | DType::Int64) {
            return Ok(Self { key, value, row, entries: Mutex::default() });
        }
        let text = format!("a lookup table has keys of type {key}, expected string, int32 or int64");
        Err(Error::invalid_argument(text))
    }

    /// The dtypes of keys and values.
    pub fn dtypes(&self) -> (DType, DType) {
        (self.key, self.value)
    }

    /// The number of entries.
    pub fn size(&self) -> usize {
        self.entries.lock().len()
    }

    /// Sets the values of keys. If a key occurs more than once, its last value is used.
    pub fn insert(&self, keys: &Tensor, values: &Tensor) -> Result<()> {
        let new = self.entries_of(keys, values)?;
        let mut entries = self.entries.lock();
        entries.try_reserve(new.len()).map_err(|_| no_room(new.len()))?;
        entries.extend(new);
        Ok(())
    }

    /// Replaces all entries.
    pub fn fill(&self, keys: &Tensor, values: &Tensor) -> Result<()> {
        let new = self.entries_of(keys, values)?.into_iter().collect();
        // The old entries are dropped after the lock is released.
        let _old = std::mem::replace(&mut *self.entries.lock(), new);
        Ok(())
    }

    /// Removes the entries with these keys. Missing keys are ignored.
    pub fn remove(&self, keys: &Tensor) -> Result<()> {
        let keys = self.keys_of(keys)?;
        let mut entries = self.entries.lock();
        keys.iter().for_each(|key| drop(entries.remove(key)));
        Ok(())
    }

    /// Looks up each key; missing keys get `default`. The shape of the result is the shape of the
    /// keys, followed by the shape of a value.
    pub fn find(&self, keys: &Tensor, default: &Tensor) -> Result<Tensor> {
        if default.dtype() != self.value || *default.shape() != self.row {
            return Err(Error::invalid_argument(format!(
                "the table has values of type {} and shape {}, got a default of type {} and shape {}",
                self.value,
                self.row,
                default.dtype(),
                default.shape()
            )));
        }
        let shape = self.shape_of_values(keys);
        let keys = self.keys_of(keys)?;
        let entries = self.entries.lock();
        let rows = keys.iter().map(|key| entries.get(key).unwrap_or(default));
        Tensor::stack_padded(self.value, &self.row, rows, None)?.reshaped(shape)
    }

    /// Returns the keys in ascending order, and their values.
    pub fn export(&self) -> Result<[Tensor; 2]> {
        let entries = self.entries.lock();
        let unsorted: Vec<(&Key, &Tensor)> = entries.iter().collect();
        let indices = order::by_key(unsorted.len(), |index| unsorted[index].0);
        let sorted: Vec<_> = indices.into_iter().map(|index| unsorted[index]).collect();
        let shape = Shape::new(&[sorted.len()]);
        let elements = allocate::elements(self.key, &shape);
        let integers = sorted.iter().filter_map(|(key, _)| match key {
            Key::Integer(integer) => Some(*integer),
            Key::String(_) => None,
        });
        let keys = match self.key {
            DType::String => {
                let strings = sorted.iter().filter_map(|(key, _)| match key {
                    Key::String(string) => Some(string.clone()),
                    Key::Integer(_) => None,
                });
                Tensor::strings(shape.clone(), elements.collect(strings)?)?
            }
            // The keys were passed as int32.
            DType::Int32 => {
                Tensor::from_values(shape.clone(), elements.collect(integers.map(|integer| integer as i32))?)?
            }
            _ => Tensor::from_values(shape.clone(), elements.collect(integers)?)?,
        };
        let values = Tensor::stack_padded(self.value, &self.row, sorted.iter().map(|(_, value)| *value), None)?;
        Ok([keys, values])
    }

    fn keys_of(&self, keys: &Tensor) -> Result<Vec<Key>> {
        if keys.dtype() != self.key {
            let (expected, dtype) = (self.key, keys.dtype());
            return Err(Error::invalid_argument(format!(
                "a table with keys of type {expected} got keys of type {dtype}"
            )));
        }
        let count = keys.num_elements();
        let converted = match self.key {
            DType::String => allocate::collected(count, keys.string_values().iter().cloned().map(Key::String)),
            _ => allocate::collected(count, keys.integers()?.into_iter().map(Key::Integer)),
        };
        converted.map_err(|refusal| refusal.at(format_args!("{count} keys of a lookup table")))
    }

    fn entries_of(&self, keys: &Tensor, values: &Tensor) -> Result<Vec<(Key, Tensor)>> {
        let (shape, num_keys) = (self.shape_of_values(keys), keys.num_elements());
        if values.dtype() != self.value || *values.shape() != shape {
            return Err(Error::invalid_argument(format!(
                "Expected shape {shape} for value, got {}",
                if values.dtype() == self.value { values.shape().to_string() } else { values.dtype().to_string() }
            )));
        }
        let entry_bytes = ENTRY_BYTES + values.num_bytes() / num_keys.max(1);
        let refused = |refusal: allocate::Refusal| refusal.at(format_args!("{num_keys} entries of a lookup table"));
        allocate::probe_pieces(num_keys, entry_bytes).map_err(refused)?;
        let mut entries = allocate::room(num_keys).map_err(refused)?;
        let rows = values.clone().reshaped(self.row.batched(num_keys))?;
        let row = |(index, mut key): (usize, Key)| {
            if let Key::String(string) = &mut key {
                *string = Bytes::copy_from_slice(string);
            }
            let mut value = rows.row(index)?;
            value.unshare();
            Ok((key, value))
        };
        for key in self.keys_of(keys)?.into_iter().enumerate() {
            entries.push(row(key)?);
        }
        Ok(entries)
    }

    fn shape_of_values(&self, keys: &Tensor) -> Shape {
        keys.shape().iter().chain(self.row.iter()).copied().collect()
    }

    /// The entries; see [`headrace_engine::saved`].
    pub fn save(&self) -> Result<Chunks> {
        let mut content = Content::default();
        self.export()?.iter().try_for_each(|tensor| content.tensor(tensor))?;
        Ok(saved::one(content))
    }

    /// Replaces the entries with saved ones.
    pub fn prepare(self: &Arc<Self>, chunks: SavedChunks) -> Result<Restore> {
        let chunk = saved::only(chunks)?;
        let mut reading = Reading::new(&chunk);
        let (keys, values) = (reading.tensor()?, reading.tensor()?);
        reading.end()?;
        if keys.dtype() != self.key || keys.shape().len() != 1 {
            return Err(saved::damaged());
        }
        let entries = self.entries_of(&keys, &values).map_err(|_| saved::damaged())?.into_iter().collect();
        let table = Arc::clone(self);
        Ok(Box::new(move || *table.entries.lock() = entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(values: &[&'static str]) -> Tensor {
        let values: Vec<_> = values.iter().map(|value| Bytes::from_static(value.as_bytes())).collect();
        Tensor::strings(Shape::new(&[values.len()]), values).unwrap()
    }

    fn floats(shape: &[usize], values: &[f32]) -> Tensor {
        Tensor::from_values(Shape::new(shape), values.to_vec()).unwrap()
    }

    fn table() -> Arc<MutableTable> {
        let table = MutableTable::new(DType::String, DType::Float32, Shape::new(&[2])).unwrap();
        table.insert(&strings(&["b", "a"]), &floats(&[2, 2], &[3., 4., 1., 2.])).unwrap();
        Arc::new(table)
    }

    #[test]
    fn keys_are_inserted_changed_and_removed() {
        let table = table();
        table.insert(&strings(&["c", "b"]), &floats(&[2, 2], &[5., 6., 7., 8.])).unwrap();
        table.remove(&strings(&["a", "z"])).unwrap();
        let values = table.find(&strings(&["a", "b", "c"]), &floats(&[2], &[0., -1.])).unwrap();
        assert_eq!(values, floats(&[3, 2], &[0., -1., 7., 8., 5., 6.]));
        assert_eq!(table.size(), 2);
    }

    #[test]
    fn entries_are_exported_in_order_and_restored() {
        let (table, other) = (table(), table());
        other.remove(&strings(&["a", "b"])).unwrap();
        other.prepare(&mut table.save().unwrap()).unwrap()();
        for one in [&table, &other] {
            assert_eq!(one.export().unwrap(), [strings(&["a", "b"]), floats(&[2, 2], &[1., 2., 3., 4.])]);
        }
        table.fill(&strings(&["x"]), &floats(&[1, 2], &[0., 0.])).unwrap();
        assert_eq!(table.size(), 1);
    }

    #[test]
    fn rejected_insert_changes_nothing() {
        let table = table();
        assert!(table.insert(&strings(&["c", "d"]), &floats(&[1, 2], &[0., 0.])).is_err());
        assert!(table.insert(&floats(&[1], &[0.]), &floats(&[1, 2], &[0., 0.])).is_err());
        assert!(table.find(&strings(&["a"]), &floats(&[1], &[0.])).is_err());
        assert!(MutableTable::new(DType::Float32, DType::Int64, Shape::new(&[])).is_err());
        assert_eq!(table.size(), 2);
    }
}
