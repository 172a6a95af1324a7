//! Writes Arrow values as JSON, in the same form as Python's `json`.
//!
//! Floats are written with the fewest digits that float64 round-trips; `NaN`, `Infinity` and
//! `-Infinity` are words. Times are ISO 8601 strings and decimals are strings. Maps are objects if
//! their keys are strings, and otherwise lists of pairs.

use crate::formats::arrow::int96::int96_nanoseconds;
use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::{as_date, as_datetime, as_time};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DecimalType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use chrono::DateTime;
use std::collections::HashSet;
use std::fmt::{Display, Write};

/// Finds the part of a type that JSON cannot represent. Returns its path and its type.
pub fn unwritable(kind: &DataType) -> Option<(String, DataType)> {
    match kind {
        DataType::Dictionary(_, values) => unwritable(values),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => unwritable(field.data_type()),
        DataType::Struct(fields) => fields.iter().find_map(|field| {
            let (path, kind) = unwritable(field.data_type())?;
            let dot = if path.is_empty() { "" } else { "." };
            Some((format!("{}{dot}{path}", field.name()), kind))
        }),
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_)
        | DataType::Duration(_)
        | DataType::Interval(_)
        | DataType::Union(..)
        | DataType::RunEndEncoded(..) => Some((String::new(), kind.clone())),
        _ => None,
    }
}

/// Fails with the name of a value that JSON cannot represent.
type Written = std::result::Result<(), String>;
/// Appends the value of a row to a text.
type Writer<'a> = Box<dyn Fn(usize, &mut String) -> Written + 'a>;

/// Returns a function that appends row `row` of an array to a text, as JSON. The array must have a
/// type that [`super::types::read_as`] returns. `kind` is the column's type in the file, which is
/// needed for timestamps that are read as bytes.
pub fn writer<'a>(array: &'a ArrayRef, kind: &DataType) -> Writer<'a> {
    let write = of_values(array, kind);
    Box::new(move |row, text| match array.is_null(row) {
        true => {
            text.push_str("null");
            Ok(())
        }
        false => write(row, text),
    })
}

fn of_values<'a>(array: &'a ArrayRef, kind: &DataType) -> Writer<'a> {
    match array.data_type() {
        // Arrays of type null have no validity buffer.
        DataType::Null => Box::new(|_, text| {
            text.push_str("null");
            Ok(())
        }),
        DataType::FixedSizeBinary(_) => int96(array, kind),
        DataType::Boolean => {
            let flags = array.as_boolean();
            Box::new(move |row, text| shown(text, flags.value(row)))
        }
        DataType::Int8 => integers::<Int8Type>(array),
        DataType::Int16 => integers::<Int16Type>(array),
        DataType::Int32 => integers::<Int32Type>(array),
        DataType::Int64 => integers::<Int64Type>(array),
        DataType::UInt8 => integers::<UInt8Type>(array),
        DataType::UInt16 => integers::<UInt16Type>(array),
        DataType::UInt32 => integers::<UInt32Type>(array),
        DataType::UInt64 => integers::<UInt64Type>(array),
        DataType::Float16 => floats::<Float16Type>(array),
        DataType::Float32 => floats::<Float32Type>(array),
        DataType::Float64 => floats::<Float64Type>(array),
        DataType::LargeUtf8 => {
            let strings = array.as_string::<i64>();
            Box::new(move |row, text| quoted(text, strings.value(row)))
        }
        DataType::Decimal32(..) => decimals::<Decimal32Type>(array),
        DataType::Decimal64(..) => decimals::<Decimal64Type>(array),
        DataType::Decimal128(..) => decimals::<Decimal128Type>(array),
        DataType::Decimal256(..) => decimals::<Decimal256Type>(array),
        DataType::Date32 => times::<Date32Type, _>(array, as_date::<Date32Type>, ""),
        DataType::Date64 => times::<Date64Type, _>(array, |value| dated(as_datetime::<Date64Type>(value)), ""),
        DataType::Time32(TimeUnit::Second) => clock::<Time32SecondType>(array),
        DataType::Time32(_) => clock::<Time32MillisecondType>(array),
        DataType::Time64(TimeUnit::Microsecond) => clock::<Time64MicrosecondType>(array),
        DataType::Time64(_) => clock::<Time64NanosecondType>(array),
        DataType::Timestamp(unit, _) => {
            let zone = zone_of(array.data_type());
            match unit {
                TimeUnit::Second => instants::<TimestampSecondType>(array, zone),
                TimeUnit::Millisecond => instants::<TimestampMillisecondType>(array, zone),
                TimeUnit::Microsecond => instants::<TimestampMicrosecondType>(array, zone),
                TimeUnit::Nanosecond => instants::<TimestampNanosecondType>(array, zone),
            }
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            let (offsets, write) = (lists.value_offsets(), writer(lists.values(), inner(kind, 0)));
            Box::new(move |row, text| listed(text, &write, offsets[row] as usize..offsets[row + 1] as usize))
        }
        DataType::FixedSizeList(_, length) => {
            let lists = array.as_fixed_size_list();
            let (length, write) = (usize::try_from(*length).unwrap_or(0), writer(lists.values(), inner(kind, 0)));
            Box::new(move |row, text| listed(text, &write, row * length..(row + 1) * length))
        }
        DataType::Struct(fields) => {
            let structs = array.as_struct();
            let columns = structs.columns().iter().enumerate();
            let writers = columns.map(|(number, column)| writer(column, inner(kind, number)));
            let fields: Vec<_> = fields.iter().map(|field| field.name().as_str()).zip(writers).collect();
            Box::new(move |row, text| {
                bracketed(text, ['{', '}'], fields.iter(), |text, (name, write)| {
                    quoted(text, name)?;
                    text.push(':');
                    write(row, text)
                })
            })
        }
        DataType::Map(..) => maps(array, inner(kind, 0)),
        other => {
            let other = other.clone();
            Box::new(move |_, _| Err(format!("JSON cannot represent {other}")))
        }
    }
}

/// The type of field `number` of a struct, or of the values of a list or map.
fn inner(kind: &DataType, number: usize) -> &DataType {
    match kind {
        DataType::Struct(fields) => fields.get(number).map_or(kind, |field| field.data_type()),
        DataType::LargeList(field) | DataType::FixedSizeList(field, _) | DataType::Map(field, _) => field.data_type(),
        kind => kind,
    }
}

/// The ISO 8601 time zone of a type. Times with a zone are in UTC.
fn zone_of(kind: &DataType) -> &'static str {
    if matches!(kind, DataType::Timestamp(_, Some(_))) { "+00:00" } else { "" }
}

/// Writes 96-bit Parquet timestamps.
fn int96<'a>(array: &'a ArrayRef, kind: &DataType) -> Writer<'a> {
    let (values, zone) = (array.as_fixed_size_binary(), zone_of(kind));
    Box::new(move |row, text| {
        let time = int96_nanoseconds(values.value(row)).and_then(|count| {
            let seconds = i64::try_from(count.div_euclid(1_000_000_000)).ok()?;
            let nanoseconds = u32::try_from(count.rem_euclid(1_000_000_000)).ok()?;
            DateTime::from_timestamp(seconds, nanoseconds)
        });
        match time {
            Some(time) => shown(text, format_args!("\"{:?}{zone}\"", time.naive_utc())),
            None => Err("a 96-bit timestamp is out of range".to_owned()),
        }
    })
}

fn shown(text: &mut String, value: impl Display) -> Written {
    write!(text, "{value}").map_err(|error| error.to_string())
}

fn quoted(text: &mut String, value: impl AsRef<str>) -> Written {
    let written = serde_json::to_string(value.as_ref()).map_err(|error| error.to_string())?;
    text.push_str(&written);
    Ok(())
}

fn bracketed<T>(
    text: &mut String,
    [open, close]: [char; 2],
    items: impl Iterator<Item = T>,
    write: impl Fn(&mut String, T) -> Written,
) -> Written {
    text.push(open);
    for (number, item) in items.enumerate() {
        if number > 0 {
            text.push(',');
        }
        write(text, item)?;
    }
    text.push(close);
    Ok(())
}

fn listed(text: &mut String, write: &Writer<'_>, rows: std::ops::Range<usize>) -> Written {
    bracketed(text, ['[', ']'], rows, |text, row| write(row, text))
}

fn integers<T: ArrowPrimitiveType<Native: Display>>(array: &ArrayRef) -> Writer<'_> {
    let values = array.as_primitive::<T>();
    Box::new(move |row, text| shown(text, values.value(row)))
}

fn floats<T: ArrowPrimitiveType<Native: Into<f64>>>(array: &ArrayRef) -> Writer<'_> {
    let values = array.as_primitive::<T>();
    Box::new(move |row, text| match values.value(row).into() {
        value if value.is_nan() => shown(text, "NaN"),
        f64::INFINITY => shown(text, "Infinity"),
        f64::NEG_INFINITY => shown(text, "-Infinity"),
        value => {
            text.push_str(&serde_json::to_string(&value).map_err(|error| error.to_string())?);
            Ok(())
        }
    })
}

fn decimals<T: DecimalType + ArrowPrimitiveType>(array: &ArrayRef) -> Writer<'_> {
    let values: &PrimitiveArray<T> = array.as_primitive::<T>();
    Box::new(move |row, text| quoted(text, values.value_as_string(row)))
}

/// Writes times after converting them with `convert`. A time that cannot be converted is an error.
fn times<'a, T, S>(array: &'a ArrayRef, convert: impl Fn(i64) -> Option<S> + 'a, zone: &'static str) -> Writer<'a>
where
    T: ArrowPrimitiveType<Native: Into<i64>>,
    S: std::fmt::Debug,
{
    let values = array.as_primitive::<T>();
    Box::new(move |row, text| {
        let value: i64 = values.value(row).into();
        match convert(value) {
            // chrono's debug format is ISO 8601.
            Some(time) => shown(text, format_args!("\"{time:?}{zone}\"")),
            None => Err(format!("{value} is out of the range of times")),
        }
    })
}

/// Returns the date if the time is midnight.
fn dated(time: Option<chrono::NaiveDateTime>) -> Option<chrono::NaiveDate> {
    time.filter(|time| time.time() == chrono::NaiveTime::MIN).map(|time| time.date())
}

fn clock<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef) -> Writer<'_> {
    times::<T, _>(array, as_time::<T>, "")
}

fn instants<'a, T: ArrowPrimitiveType<Native: Into<i64>>>(array: &'a ArrayRef, zone: &'static str) -> Writer<'a> {
    times::<T, _>(array, as_datetime::<T>, zone)
}

fn maps<'a>(array: &'a ArrayRef, entries: &DataType) -> Writer<'a> {
    let maps = array.as_map();
    let offsets = maps.value_offsets();
    let range = |row: usize| offsets[row] as usize..offsets[row + 1] as usize;
    let (keys, values) = (maps.keys(), writer(maps.values(), inner(entries, 1)));
    if keys.data_type() != &DataType::LargeUtf8 {
        let keys = writer(keys, inner(entries, 0));
        return Box::new(move |row, text| {
            bracketed(text, ['[', ']'], range(row), |text, entry| {
                text.push('[');
                keys(entry, text)?;
                text.push(',');
                values(entry, text)?;
                text.push(']');
                Ok(())
            })
        });
    }
    let keys = keys.as_string::<i64>();
    Box::new(move |row, text| {
        let mut seen = HashSet::new();
        if let Some(twice) = range(row).map(|entry| keys.value(entry)).find(|key| !seen.insert(*key)) {
            return Err(format!("a map has the key '{twice}' twice"));
        }
        bracketed(text, ['{', '}'], range(row), |text, entry| {
            quoted(text, keys.value(entry))?;
            text.push(':');
            values(entry, text)
        })
    })
}
