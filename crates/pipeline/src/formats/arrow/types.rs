//! Arrow's types: which components they can be read as, and how they are named.

use crate::formats::arrow::json_text::unwritable;
use crate::formats::component::times::TimeUnit as Unit;
use crate::formats::component::{Component, Form};
use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit};
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use std::sync::Arc;

/// The maximum nesting depth of lists in a component.
const MAX_LISTS: usize = 3;

/// Infers the default component for a column of this type. The error includes a remedy.
pub fn inferred(name: &str, kind: &DataType) -> Result<Component, String> {
    let (mut sizes, mut inner) = (Vec::new(), kind);
    while let DataType::FixedSizeList(values, length) = inner {
        sizes.push(usize::try_from(*length).unwrap_or(0));
        inner = values.data_type();
    }
    let (mut num_lists, mut deepest) = (0, inner);
    while let Some(values) = values_of(deepest) {
        num_lists += 1;
        deepest = values.data_type();
    }
    if num_lists > 0 {
        // A list of variable length inside fixed-length lists makes all of them ragged.
        num_lists += sizes.len();
        sizes.clear();
    }
    let is_nested = matches!(deepest, DataType::Struct(_) | DataType::Map(..)) || num_lists > MAX_LISTS;
    if is_nested {
        return as_json(name, kind);
    }
    let (dtype, form) = leaf(name, deepest)?;
    Ok(Component { num_lists, shape: Shape::new(&sizes), is_inferred: true, ..Component::of(name, dtype, form) })
}

/// Returns the JSON component for a column.
fn as_json(name: &str, kind: &DataType) -> Result<Component, String> {
    match unwritable(kind) {
        None => Ok(Component { is_inferred: true, ..Component::of(name, DType::String, Form::Json) }),
        Some((path, part)) => Err(format!(
            "which contains {}, and JSON cannot represent that. Omit the column, or read only some fields, such as \
             columns={{'{name}.{path}': ...}}.",
            words(&part)
        )),
    }
}

/// The field of a list type's values, or `None` if it is another type.
pub fn values_of(kind: &DataType) -> Option<&FieldRef> {
    match kind {
        DataType::List(values)
        | DataType::LargeList(values)
        | DataType::ListView(values)
        | DataType::LargeListView(values)
        | DataType::FixedSizeList(values, _) => Some(values),
        _ => None,
    }
}

/// Converts Arrow's unit of time to NumPy's.
pub fn unit_of(unit: TimeUnit) -> Unit {
    match unit {
        TimeUnit::Second => Unit::Second,
        TimeUnit::Millisecond => Unit::Millisecond,
        TimeUnit::Microsecond => Unit::Microsecond,
        TimeUnit::Nanosecond => Unit::Nanosecond,
    }
}

/// The dtype and the form of single values.
fn leaf(name: &str, kind: &DataType) -> Result<(DType, Form), String> {
    let plain = |dtype| Ok((dtype, Form::Plain));
    let typed = |words: &str| Err(format!("expected a type for it. Set {words} with dtypes={{'{name}': ...}}."));
    match kind {
        DataType::Boolean => plain(DType::Bool),
        DataType::Int8 => plain(DType::Int8),
        DataType::Int16 => plain(DType::Int16),
        DataType::Int32 => plain(DType::Int32),
        DataType::Int64 => plain(DType::Int64),
        DataType::UInt8 => plain(DType::UInt8),
        DataType::UInt16 => plain(DType::UInt16),
        DataType::UInt32 => plain(DType::UInt32),
        DataType::UInt64 => plain(DType::UInt64),
        DataType::Float16 => plain(DType::Float16),
        DataType::Float32 => plain(DType::Float32),
        DataType::Float64 => plain(DType::Float64),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok((DType::String, Form::Text)),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            plain(DType::String)
        }
        DataType::Dictionary(_, values) => leaf(name, values),
        DataType::Date32 => Ok((DType::Int64, Form::Instant(Unit::Day))),
        DataType::Date64 => Ok((DType::Int64, Form::Instant(Unit::Millisecond))),
        DataType::Timestamp(unit, _) => Ok((DType::Int64, Form::Instant(unit_of(*unit)))),
        DataType::Time32(unit) | DataType::Time64(unit) | DataType::Duration(unit) => {
            Ok((DType::Int64, Form::Span(unit_of(*unit))))
        }
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            typed("np.float64 or str")
        }
        DataType::Null => Err(format!(
            "expected a type for it, because all its values are null. Set hr.Json or hr.Nullable(...) with \
             dtypes={{'{name}': ...}}, or omit the column: list only the others in columns=[...]."
        )),
        _ => Err("expected a supported type. Omit the column: list only the others in columns=[...].".to_owned()),
    }
}

/// Fails with a description if a column of this type cannot be read as the component.
pub fn check(component: &Component, kind: &DataType) -> Result<(), String> {
    if component.form == Form::Json {
        return match unwritable(kind) {
            None => Ok(()),
            Some(_) => Err(as_json(&component.name, kind).err().unwrap_or_default()),
        };
    }
    if kind == &DataType::Null {
        // Every row is null, and the component may have a value for nulls.
        return Ok(());
    }
    if component.is_inferred {
        let alike = |is: &Component| {
            (is.dtype, is.form, is.num_lists, &is.shape)
                == (component.dtype, component.form, component.num_lists, &component.shape)
        };
        return match inferred(&component.name, kind).as_ref() {
            Ok(is) if alike(is) => Ok(()),
            _ => Err(format!(
                "expected {}, as in the first file. Write all files with the same types, or set its type with \
                 dtypes={{'{}': ...}}.",
                component.type_name(),
                component.name
            )),
        };
    }
    let mut inner = kind;
    let num_axes = component.num_lists.max(component.shape.len());
    for axis in 0..num_axes {
        let has_length = |length: i32| {
            let expected = component.shape.get(axis);
            expected.is_none_or(|expected| usize::try_from(length).is_ok_and(|length| length == *expected))
        };
        inner = match inner {
            DataType::Null => return Ok(()),
            DataType::FixedSizeList(_, length) if !has_length(*length) => return Err(unfit(component)),
            kind => values_of(kind).ok_or_else(|| unfit(component))?.data_type(),
        };
    }
    match is_read_as(component, inner) {
        true => Ok(()),
        false => Err(unfit(component)),
    }
}

fn unfit(component: &Component) -> String {
    format!("expected {}. Read it as another type with dtypes={{'{}': ...}}.", component.type_name(), component.name)
}

/// Returns true if single values of a type can be read as values of the component.
fn is_read_as(component: &Component, kind: &DataType) -> bool {
    let is_text = matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let is_bytes =
        matches!(kind, DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_));
    let is_float = matches!(kind, DataType::Float16 | DataType::Float32 | DataType::Float64);
    match (component.form, component.dtype, kind) {
        (_, _, DataType::Null) => true,
        (_, _, DataType::Dictionary(_, values)) => is_read_as(component, values),
        (Form::Text, _, _) => is_text || is_bytes || kind.is_decimal(),
        (Form::Instant(_), _, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..)) => true,
        (Form::Instant(_), _, _) => is_text,
        (Form::Span(_), _, _) => matches!(kind, DataType::Time32(_) | DataType::Time64(_) | DataType::Duration(_)),
        (Form::Json, _, _) => true,
        (Form::Plain, DType::String, _) => is_text || is_bytes,
        (Form::Plain, DType::Bool, _) => kind == &DataType::Boolean,
        (Form::Plain, DType::Float16 | DType::Float32 | DType::Float64, _) => {
            is_float || kind.is_integer() || kind.is_decimal()
        }
        (Form::Plain, _, _) => kind.is_integer(),
    }
}

/// The minimum size of a component's row in bytes: the numbers, and the positions of strings and
/// lists.
pub fn row_bytes(component: &Component) -> usize {
    let element_bytes = match component.dtype {
        DType::String => 2 * size_of::<usize>(),
        dtype => dtype.size(),
    };
    match component.num_lists {
        0 => element_bytes.saturating_mul(component.shape.num_elements()),
        _ => size_of::<usize>(),
    }
}

/// The minimum size of a row in Arrow arrays of this type in bits, whether it is null or not.
pub fn row_bits(kind: &DataType) -> u64 {
    let number = |length: i32| u64::try_from(length).unwrap_or(0);
    match kind {
        DataType::Boolean => 1,
        DataType::FixedSizeBinary(length) => number(*length).saturating_mul(8),
        DataType::FixedSizeList(values, length) => number(*length).saturating_mul(row_bits(values.data_type())),
        DataType::Struct(fields) => bits_of(fields),
        DataType::Dictionary(keys, _) => row_bits(keys),
        DataType::Utf8View | DataType::BinaryView => 128,
        kind => kind.primitive_width().map_or(0, |bytes| 8 * bytes as u64),
    }
}

/// The minimum size of a row with all of these fields, in bits.
pub fn bits_of(fields: &Fields) -> u64 {
    fields.iter().fold(0, |sum: u64, field| sum.saturating_add(row_bits(field.data_type())))
}

/// The type that a column is read as, without dictionaries or views and with 64-bit offsets for
/// strings and lists.
pub fn read_as(kind: &DataType) -> DataType {
    let same = |field: &FieldRef| Arc::new(field.as_ref().clone().with_data_type(read_as(field.data_type())));
    match kind {
        DataType::Dictionary(_, values) => read_as(values),
        DataType::Utf8 | DataType::Utf8View => DataType::LargeUtf8,
        DataType::Binary | DataType::BinaryView => DataType::LargeBinary,
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => DataType::LargeList(same(field)),
        DataType::FixedSizeList(field, length) => DataType::FixedSizeList(same(field), *length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(same).collect()),
        DataType::Map(entries, is_sorted) => DataType::Map(same(entries), *is_sorted),
        kind => kind.clone(),
    }
}

/// Replaces the type of a field with the type that it is read as.
pub fn field_read_as(field: &Field) -> Field {
    field.clone().with_data_type(read_as(field.data_type()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_size_of_nested_types_counts_all_values() {
        let list = |kind, length| DataType::FixedSizeList(Arc::new(Field::new("item", kind, true)), length);
        assert_eq!(row_bits(&list(list(DataType::Int16, 2), 3)), 96);
        assert_eq!(row_bits(&list(DataType::Utf8, 7)), 0);
        let fields: Fields = [list(DataType::Boolean, 9), DataType::FixedSizeBinary(2), DataType::Utf8View]
            .into_iter()
            .map(|kind| Arc::new(Field::new("f", kind, true)))
            .collect();
        assert_eq!(row_bits(&DataType::Struct(fields)), 9 + 16 + 128);
        let codes = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
        assert_eq!(row_bits(&codes), 8);
        assert_eq!(row_bits(&list(list(list(DataType::Int64, i32::MAX), i32::MAX), i32::MAX)), u64::MAX);
    }
}
