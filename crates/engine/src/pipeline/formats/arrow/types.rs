//! The columns of tables that components can be made of.

use crate::tensor::dtype::DType;
use arrow_schema::{DataType, FieldRef, IntervalUnit, TimeUnit};
use std::fmt;
use std::sync::Arc;

/// A component made of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// The name of the column.
    pub name: String,
    /// The type of its elements.
    pub element: Element,
    /// The lists in its rows.
    pub lists: Lists,
}

/// The type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// The type in tensors.
    pub dtype: DType,
    /// True for strings that are text.
    pub is_text: bool,
}

/// The lists in the rows of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// One element in each row.
    None,
    /// Lists of any length.
    Ragged,
    /// Lists of one length.
    Fixed(usize),
}

impl TableColumn {
    /// The component made of a column of this type; `None` if there is none.
    pub fn of(name: &str, kind: &DataType) -> Option<Self> {
        let (element, lists) = match kind {
            DataType::List(values) | DataType::LargeList(values) => (Element::of(values.data_type())?, Lists::Ragged),
            DataType::FixedSizeList(values, length) => {
                (Element::of(values.data_type())?, Lists::Fixed(usize::try_from(*length).ok()?))
            }
            kind => (Element::of(kind)?, Lists::None),
        };
        Some(Self { name: name.to_owned(), element, lists })
    }

    /// The least number of bytes that a row takes: numbers, and the positions of strings and lists.
    pub fn row_bytes(&self) -> usize {
        let element_bytes = match self.element.dtype {
            DType::String => 2 * size_of::<usize>(),
            dtype => dtype.size(),
        };
        match self.lists {
            Lists::None => element_bytes,
            Lists::Ragged => size_of::<usize>(),
            Lists::Fixed(length) => element_bytes.saturating_mul(length),
        }
    }
}

impl TableColumn {
    fn write(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        match self.lists {
            Lists::None => write!(f, "Spec({name}, ())"),
            Lists::Ragged => write!(f, "Spec({name}, (None,), ragged)"),
            Lists::Fixed(length) => write!(f, "Spec({name}, ({length},))"),
        }
    }
}

impl fmt::Display for TableColumn {
    /// As Python writes the `Spec` of the component.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match (self.element.dtype, self.element.is_text) {
            (DType::String, true) => "str",
            (DType::String, false) => "bytes",
            (DType::Float16, _) => "float16",
            (DType::Float32, _) => "float32",
            (DType::Float64, _) => "float64",
            (dtype, _) => return self.write(f, &dtype.to_string()),
        };
        self.write(f, name)
    }
}

impl Element {
    fn of(kind: &DataType) -> Option<Self> {
        let is_text = matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        let dtype = match kind {
            DataType::Boolean => DType::Bool,
            DataType::Int8 => DType::Int8,
            DataType::Int16 => DType::Int16,
            DataType::Int32 => DType::Int32,
            DataType::Int64 => DType::Int64,
            DataType::UInt8 => DType::UInt8,
            DataType::UInt16 => DType::UInt16,
            DataType::UInt32 => DType::UInt32,
            DataType::UInt64 => DType::UInt64,
            DataType::Float16 => DType::Float16,
            DataType::Float32 => DType::Float32,
            DataType::Float64 => DType::Float64,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DType::String,
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                DType::String
            }
            DataType::Dictionary(_, values) => return Self::of(values),
            _ => return None,
        };
        Some(Self { dtype, is_text })
    }
}

/// The type as which a column is read: without dictionaries, and with offsets that any size of
/// strings and lists fits.
pub fn read_as(kind: &DataType) -> DataType {
    let values = |field: &FieldRef| Arc::new(field.as_ref().clone().with_data_type(read_as(field.data_type())));
    match kind {
        DataType::Dictionary(_, values) => read_as(values),
        DataType::Utf8 | DataType::Utf8View => DataType::LargeUtf8,
        DataType::Binary | DataType::BinaryView => DataType::LargeBinary,
        DataType::List(field) | DataType::LargeList(field) => DataType::LargeList(values(field)),
        DataType::FixedSizeList(field, length) => DataType::FixedSizeList(values(field), *length),
        kind => kind.clone(),
    }
}

/// The name of a type, as pyarrow writes it.
pub fn words(kind: &DataType) -> String {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    let field = |field: &FieldRef| format!("{}: {}", field.name(), words(field.data_type()));
    match kind {
        DataType::Null => "null".to_owned(),
        DataType::Boolean => "bool".to_owned(),
        DataType::Float16 => "halffloat".to_owned(),
        DataType::Float32 => "float".to_owned(),
        DataType::Float64 => "double".to_owned(),
        DataType::Utf8 => "string".to_owned(),
        DataType::LargeUtf8 => "large_string".to_owned(),
        DataType::Utf8View => "string_view".to_owned(),
        DataType::LargeBinary => "large_binary".to_owned(),
        DataType::FixedSizeBinary(length) => format!("fixed_size_binary[{length}]"),
        DataType::Date32 => "date32[day]".to_owned(),
        DataType::Date64 => "date64[ms]".to_owned(),
        DataType::Time32(of) => format!("time32[{}]", unit(of)),
        DataType::Time64(of) => format!("time64[{}]", unit(of)),
        DataType::Timestamp(of, None) => format!("timestamp[{}]", unit(of)),
        DataType::Timestamp(of, Some(zone)) => format!("timestamp[{}, tz={zone}]", unit(of)),
        DataType::Duration(of) => format!("duration[{}]", unit(of)),
        DataType::Interval(IntervalUnit::MonthDayNano) => "month_day_nano_interval".to_owned(),
        DataType::Decimal128(precision, scale) => format!("decimal128({precision}, {scale})"),
        DataType::Decimal256(precision, scale) => format!("decimal256({precision}, {scale})"),
        DataType::List(values) => format!("list<{}>", field(values)),
        DataType::LargeList(values) => format!("large_list<{}>", field(values)),
        DataType::FixedSizeList(values, length) => format!("fixed_size_list<{}>[{length}]", field(values)),
        DataType::Struct(fields) => format!("struct<{}>", fields.iter().map(field).collect::<Vec<_>>().join(", ")),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                format!("map<{}, {}>", words(fields[0].data_type()), words(fields[1].data_type()))
            }
            _ => "map".to_owned(),
        },
        DataType::Dictionary(keys, values) => format!("dictionary<values={}, indices={}>", words(values), words(keys)),
        other => other.to_string().to_lowercase(),
    }
}
