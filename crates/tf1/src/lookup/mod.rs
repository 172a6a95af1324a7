//! Tables from keys to values, which are filled once and then only read.
//!
//! Source: `tf.lookup.StaticHashTable` and its initializers in TensorFlow 1.15.

pub mod mutable;
pub mod text_file;

use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::saved::{self, Chunks, Content, Reading, Restore, SavedChunks};
use headrace_engine::sync::Mutex;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;

/// A table. Any thread may use it, and no lock is held while keys are looked up.
#[derive(Debug)]
pub struct Table {
    key: DType,
    value: DType,
    entries: Mutex<Option<Arc<Entries>>>,
}

/// The entries of a table.
#[derive(Debug)]
struct Entries {
    /// The keys and the values, two vectors of equal length.
    keys: Tensor,
    values: Tensor,
    indices: ValueIndices,
}

/// The index of each key's value.
#[derive(Debug)]
enum ValueIndices {
    Integers(HashMap<i64, usize>),
    Strings(HashMap<Bytes, usize>),
}

impl Table {
    /// Creates a table that has to be filled. Keys are strings, int32 or int64.
    pub fn new(key: DType, value: DType) -> Result<Self> {
        if matches!(key, DType::String | DType::Int32 | DType::Int64) {
            return Ok(Self { key, value, entries: Mutex::new(None) });
        }
        let text = format!("a lookup table has keys of type {key}, expected string, int32 or int64");
        Err(Error::invalid_argument(text))
    }

    /// The dtypes of keys and values.
    pub fn dtypes(&self) -> (DType, DType) {
        (self.key, self.value)
    }

    /// The number of entries, or 0 before the table is filled.
    pub fn size(&self) -> usize {
        self.entries.lock().as_ref().map_or(0, |entries| entries.indices.len())
    }

    /// Fills the table. If it is already filled, the entries stay, and a different number of
    /// entries is an error.
    pub fn fill(&self, keys: Tensor, values: Tensor) -> Result<()> {
        let num_given = keys.num_elements();
        if keys.dtype() != self.key || values.dtype() != self.value || values.num_elements() != num_given {
            return Err(Error::invalid_argument(format!(
                "the table maps {} to {}, got {num_given} keys of type {} and {} values of type {}",
                self.key,
                self.value,
                keys.dtype(),
                values.num_elements(),
                values.dtype()
            )));
        }
        let filled = |entries: &Arc<Entries>| entries.indices.len();
        let size = self.entries.lock().as_ref().map(filled);
        if let Some(size) = size {
            let text = "Table already initialized.";
            return if size == num_given { Ok(()) } else { Err(Error::failed_precondition(text)) };
        }
        let entries = Arc::new(Entries::new(keys, values)?);
        self.entries.lock().get_or_insert(entries);
        Ok(())
    }

    /// Looks up each key. The result has the shape of the keys. Missing keys get `default`, a
    /// scalar.
    pub fn find(&self, keys: &Tensor, default: &Tensor) -> Result<Tensor> {
        let entries = self.filled()?;
        if keys.dtype() != self.key || default.dtype() != self.value || default.num_elements() != 1 {
            return Err(Error::invalid_argument(format!(
                "the table maps {} to {}, got keys of type {} and a default with {} elements of type {}",
                self.key,
                self.value,
                keys.dtype(),
                default.num_elements(),
                default.dtype()
            )));
        }
        entries.find(keys, default)
    }

    fn filled(&self) -> Result<Arc<Entries>> {
        self.entries.lock().clone().ok_or_else(|| Error::failed_precondition("Table not initialized."))
    }

    /// Returns the keys and the values as two vectors in insertion order.
    pub fn export(&self) -> Result<[Tensor; 2]> {
        let entries = self.filled()?;
        Ok([entries.keys.clone(), entries.values.clone()])
    }

    /// The entries; see [`headrace_engine::saved`].
    pub fn save(&self) -> Result<Chunks> {
        let mut content = Content::default();
        if let Some(entries) = self.entries.lock().as_ref() {
            content.tensor(&entries.keys)?;
            content.tensor(&entries.values)?;
        }
        Ok(saved::one(content))
    }

    /// Replaces the entries with saved ones.
    pub fn prepare(self: &Arc<Self>, chunks: SavedChunks) -> Result<Restore> {
        let chunk = saved::only(chunks)?;
        let mut reading = Reading::new(&chunk);
        let mut entries = None;
        if !reading.is_at_end() {
            let (keys, values) = (reading.tensor()?, reading.tensor()?);
            reading.end()?;
            let is_right = keys.dtype() == self.key && values.dtype() == self.value;
            if !is_right || keys.shape().len() != 1 || values.shape() != keys.shape() {
                return Err(saved::damaged());
            }
            entries = Some(Arc::new(Entries::new(keys, values).map_err(|_| saved::damaged())?));
        }
        let table = Arc::clone(self);
        Ok(Box::new(move || *table.entries.lock() = entries))
    }
}

impl Entries {
    /// Fails if a key occurs twice with different values.
    fn new(mut keys: Tensor, mut values: Tensor) -> Result<Self> {
        keys.unshare();
        values.unshare();
        let indices = match keys.dtype() {
            DType::String => ValueIndices::Strings(indices(keys.string_values().iter().cloned(), &values, shown)?),
            DType::Int32 => {
                let integers = keys.values::<i32>()?.iter().map(|key| i64::from(*key));
                ValueIndices::Integers(indices(integers, &values, i64::to_string)?)
            }
            _ => ValueIndices::Integers(indices(keys.values::<i64>()?.iter().copied(), &values, i64::to_string)?),
        };
        Ok(Self { keys, values, indices })
    }

    fn find(&self, keys: &Tensor, default: &Tensor) -> Result<Tensor> {
        match (&self.indices, keys.dtype()) {
            (ValueIndices::Strings(indices), _) => {
                let positions = keys.string_values().iter().map(|key| indices.get(key).copied());
                self.pick(keys, positions, default)
            }
            (ValueIndices::Integers(indices), DType::Int32) => {
                let positions = keys.values::<i32>()?.iter().map(|key| indices.get(&i64::from(*key)).copied());
                self.pick(keys, positions, default)
            }
            (ValueIndices::Integers(indices), _) => {
                let positions = keys.values::<i64>()?.iter().map(|key| indices.get(key).copied());
                self.pick(keys, positions, default)
            }
        }
    }

    /// Returns the values at these positions, in the shape of the keys.
    fn pick(&self, keys: &Tensor, positions: impl Iterator<Item = Option<usize>>, default: &Tensor) -> Result<Tensor> {
        let shape = keys.shape().clone();
        let dtype = self.values.dtype();
        let elements = allocate::elements(dtype, &shape);
        if dtype == DType::String {
            let (values, default) = (self.values.string_values(), default.string_values());
            let picked = positions.map(|index| index.map_or(&default[0], |index| &values[index]).clone());
            let picked = elements.collect(picked)?;
            return Tensor::strings(shape, picked);
        }
        let (size, values) = (dtype.size(), self.values.bytes());
        let mut bytes: Vec<u8> = elements.room()?;
        for index in positions {
            let value = index.map_or(default.bytes(), |index| &values[index * size..(index + 1) * size]);
            bytes.extend_from_slice(value);
        }
        Tensor::from_bytes(dtype, shape, bytes.into())
    }
}

impl ValueIndices {
    fn len(&self) -> usize {
        match self {
            Self::Integers(indices) => indices.len(),
            Self::Strings(indices) => indices.len(),
        }
    }
}

fn indices<K: std::hash::Hash + Eq>(
    keys: impl Iterator<Item = K>,
    values: &Tensor,
    show: impl Fn(&K) -> String,
) -> Result<HashMap<K, usize>> {
    let mut indices = HashMap::new();
    for (index, key) in keys.enumerate() {
        match indices.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(index);
            }
            Entry::Occupied(entry) => {
                let (first, second) = (Value(values, *entry.get()), Value(values, index));
                if first != second {
                    return Err(Error::failed_precondition(format!(
                        "HashTable has different value for same key. Key {} has {first} and trying to add value {second}",
                        show(entry.key())
                    )));
                }
            }
        }
    }
    Ok(indices)
}

fn shown(key: &Bytes) -> String {
    String::from_utf8_lossy(key).into_owned()
}

/// A value of a table, for comparisons and errors.
struct Value<'t>(&'t Tensor, usize);

impl Value<'_> {
    fn bytes(&self) -> &[u8] {
        let Self(values, index) = self;
        match values.dtype() {
            DType::String => &values.string_values()[*index],
            dtype => &values.bytes()[index * dtype.size()..(index + 1) * dtype.size()],
        }
    }
}

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(values, index) = self;
        match values.dtype() {
            DType::String => f.write_str(&String::from_utf8_lossy(self.bytes())),
            DType::Int32 => write!(f, "{}", values.values::<i32>().map_err(|_| fmt::Error)?[*index]),
            DType::Int64 => write!(f, "{}", values.values::<i64>().map_err(|_| fmt::Error)?[*index]),
            DType::Float32 => write!(f, "{}", values.values::<f32>().map_err(|_| fmt::Error)?[*index]),
            DType::Float64 => write!(f, "{}", values.values::<f64>().map_err(|_| fmt::Error)?[*index]),
            _ => write!(f, "{:?}", self.bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_engine::error::Code;
    use headrace_engine::tensor::shape::Shape;

    fn strings(values: &[&'static str]) -> Tensor {
        let shape = Shape::new(&[values.len()]);
        let values = values.iter().map(|value| Bytes::from_static(value.as_bytes())).collect();
        Tensor::strings(shape, values).unwrap()
    }

    fn numbers(values: &[i64]) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    fn words() -> Arc<Table> {
        let table = Arc::new(Table::new(DType::String, DType::Int64).unwrap());
        table.fill(strings(&["a", "b"]), numbers(&[1, 2])).unwrap();
        table
    }

    #[test]
    fn missing_keys_have_the_default_value() {
        let values = words().find(&strings(&["b", "z", "a"]), &Tensor::scalar(-1_i64)).unwrap();
        assert_eq!(values, numbers(&[2, -1, 1]));
    }

    #[test]
    fn integer_keys_have_string_values() {
        let table = Table::new(DType::Int32, DType::String).unwrap();
        let keys = Tensor::from_values(Shape::new(&[2]), vec![7_i32, -1]).unwrap();
        table.fill(keys.clone(), strings(&["x", "y"])).unwrap();
        let default = Tensor::string(Bytes::from_static(b"?"));
        assert_eq!(table.find(&keys, &default).unwrap(), strings(&["x", "y"]));
    }

    #[test]
    fn table_is_filled_once() {
        let table = Table::new(DType::String, DType::Int64).unwrap();
        let default = Tensor::scalar(-1_i64);
        assert_eq!(table.find(&strings(&["a"]), &default).unwrap_err().message(), "Table not initialized.");
        table.fill(strings(&["a"]), numbers(&[1])).unwrap();
        table.fill(strings(&["b"]), numbers(&[2])).unwrap();
        assert_eq!(table.find(&strings(&["a", "b"]), &default).unwrap(), numbers(&[1, -1]));
        let error = table.fill(strings(&["a", "b"]), numbers(&[1, 2])).unwrap_err();
        assert_eq!((error.code(), error.message()), (Code::FailedPrecondition, "Table already initialized."));
    }

    #[test]
    fn conflicting_values_for_a_key_are_rejected() {
        let table = Table::new(DType::String, DType::Int64).unwrap();
        let text = table.fill(strings(&["a", "a"]), numbers(&[1, 2])).unwrap_err();
        assert!(text.message().ends_with("Key a has 1 and trying to add value 2"));
        table.fill(strings(&["a", "a"]), numbers(&[1, 1])).unwrap();
        assert_eq!(table.size(), 1);
    }

    #[test]
    fn wrong_types_and_shapes_are_rejected() {
        assert!(Table::new(DType::Float32, DType::Int64).is_err());
        let table = words();
        assert!(table.fill(numbers(&[1]), numbers(&[1])).is_err());
        assert!(table.fill(strings(&["a"]), numbers(&[1, 2])).is_err());
        assert!(table.find(&numbers(&[1]), &Tensor::scalar(-1_i64)).is_err());
        assert!(table.find(&strings(&["a"]), &numbers(&[1, 2])).is_err());
    }

    #[test]
    fn entries_are_saved_and_restored() {
        for table in [words(), Arc::new(Table::new(DType::String, DType::Int64).unwrap())] {
            let saved: Vec<_> = table.save().unwrap().collect();
            let other = Arc::new(Table::new(DType::String, DType::Int64).unwrap());
            other.prepare(&mut saved.into_iter()).unwrap()();
            assert_eq!(other.size(), table.size());
        }
        let saved: Vec<_> = words().save().unwrap().collect();
        let other = Arc::new(Table::new(DType::Int64, DType::Int64).unwrap());
        assert!(other.prepare(&mut saved.into_iter()).is_err());
    }
}
