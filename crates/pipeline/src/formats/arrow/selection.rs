//! Conditions on columns, which select the rows to read.

use crate::blocks::column::Column;
use crate::formats::component::Component;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use std::cmp::Ordering;

/// A condition on a column. A null never meets a condition.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The column. It has a mask.
    pub component: Component,
    /// The comparison.
    pub op: Op,
    /// The values to compare with: one, or any number if the comparison allows several.
    pub values: Vec<Value>,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `in`
    In,
    /// `not in`
    NotIn,
}

/// A value to compare a column with.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer, a boolean, or a time in the unit of the column.
    Integer(i128),
    /// A number with a fraction.
    Float(f64),
    /// A string.
    Bytes(Vec<u8>),
    /// A decimal, as text.
    Decimal(String),
}

impl Op {
    /// Returns the comparison that Python writes in this way.
    pub fn of_name(name: &str) -> Result<Self> {
        Ok(match name {
            "==" => Self::Equal,
            "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::AtMost,
            ">" => Self::More,
            ">=" => Self::AtLeast,
            "in" => Self::In,
            "not in" => Self::NotIn,
            other => return Err(Error::internal(format!("'{other}' is not a comparison"))),
        })
    }

    fn holds(self, orders: impl Iterator<Item = Option<Ordering>>) -> bool {
        let mut orders = orders;
        let mut any = |test: fn(Ordering) -> bool| orders.any(|order| order.is_some_and(test));
        match self {
            Self::Equal | Self::In => any(Ordering::is_eq),
            Self::NotEqual | Self::NotIn => !any(Ordering::is_eq),
            Self::Less => any(Ordering::is_lt),
            Self::AtMost => any(Ordering::is_le),
            Self::More => any(Ordering::is_gt),
            Self::AtLeast => any(Ordering::is_ge),
        }
    }
}

impl Condition {
    /// Returns for each row whether it meets the condition, given the column's values and mask.
    pub fn met(&self, columns: &[Column]) -> Result<Vec<bool>> {
        let [values, mask] = columns else {
            return Err(Error::internal("the mask of a column with a condition is missing"));
        };
        let orders = Orders::of(values)?;
        let is_there = mask.to_tensor()?;
        let is_there = is_there.bytes();
        Ok((0..values.len()).map(|row| is_there[row] != 0 && self.op.holds(orders.with(row, &self.values))).collect())
    }

    /// Returns true if a value between the bounds of some rows may meet the condition.
    pub fn may_be_met(&self, least: &[Column], most: &[Column]) -> Result<bool> {
        let bound = |columns: &[Column]| -> Result<Option<Vec<Option<Ordering>>>> {
            let [values, mask] = columns else { return Ok(None) };
            if mask.to_tensor()?.bytes().first() != Some(&1) {
                return Ok(None);
            }
            Ok(Some(Orders::of(values)?.with(0, &self.values).collect()))
        };
        let (Some(least), Some(most)) = (bound(least)?, bound(most)?) else { return Ok(true) };
        let mut both = least.into_iter().zip(most);
        Ok(match self.op {
            Op::NotEqual | Op::NotIn => true,
            op => both.any(|orders| match orders {
                (Some(least), Some(most)) => match op {
                    Op::Less => least.is_lt(),
                    Op::AtMost => least.is_le(),
                    Op::More => most.is_gt(),
                    Op::AtLeast => most.is_ge(),
                    _ => least.is_le() && most.is_ge(),
                },
                // A NaN bound excludes nothing.
                _ => true,
            }),
        })
    }
}

/// Rows to compare.
enum Orders<'a> {
    Strings(&'a Column),
    Integers(Vec<i128>),
    Floats(Vec<f64>),
}

impl<'a> Orders<'a> {
    fn of(column: &'a Column) -> Result<Self> {
        let tensor = match column {
            Column::Text(_) => return Ok(Self::Strings(column)),
            Column::Dense(tensor) if tensor.shape().len() == 1 => tensor,
            _ => return Err(Error::internal("a column with a condition does not have single values")),
        };
        fn all<T: headrace_engine::tensor::dtype::Numeric + Copy, U: From<T>>(tensor: &Tensor) -> Result<Vec<U>> {
            Ok(tensor.values::<T>()?.iter().map(|value| U::from(*value)).collect())
        }
        Ok(match tensor.dtype() {
            DType::Bool => Self::Integers(tensor.bytes().iter().map(|flag| i128::from(*flag)).collect()),
            DType::Int8 => Self::Integers(all::<i8, _>(tensor)?),
            DType::Int16 => Self::Integers(all::<i16, _>(tensor)?),
            DType::Int32 => Self::Integers(all::<i32, _>(tensor)?),
            DType::Int64 => Self::Integers(all::<i64, _>(tensor)?),
            DType::UInt8 => Self::Integers(all::<u8, _>(tensor)?),
            DType::UInt16 => Self::Integers(all::<u16, _>(tensor)?),
            DType::UInt32 => Self::Integers(all::<u32, _>(tensor)?),
            DType::UInt64 => Self::Integers(all::<u64, _>(tensor)?),
            DType::Float16 => Self::Floats(all::<half::f16, _>(tensor)?),
            DType::Float32 => Self::Floats(all::<f32, _>(tensor)?),
            DType::Float64 => Self::Floats(all::<f64, _>(tensor)?),
            other => return Err(Error::internal(format!("conditions are not supported for {other} columns"))),
        })
    }

    /// Compares a row with each value. The order is `None` for NaN.
    fn with<'b>(&'b self, row: usize, values: &'b [Value]) -> impl Iterator<Item = Option<Ordering>> + 'b {
        values.iter().map(move |value| match (self, value) {
            (Self::Strings(strings), Value::Decimal(value)) => {
                strings.string(row).ok().and_then(|string| of_decimals(std::str::from_utf8(string).ok()?, value))
            }
            (Self::Strings(strings), Value::Bytes(value)) => strings.string(row).ok().map(|string| string.cmp(value)),
            (Self::Integers(integers), Value::Integer(value)) => Some(integers[row].cmp(value)),
            (Self::Integers(integers), Value::Float(value)) => of_both(integers[row], *value),
            (Self::Floats(floats), Value::Integer(value)) => of_both(*value, floats[row]).map(Ordering::reverse),
            (Self::Floats(floats), Value::Float(value)) => floats[row].partial_cmp(value),
            _ => None,
        })
    }
}

/// Compares two decimals, such as "-12.50", without rounding either of them.
fn of_decimals(one: &str, other: &str) -> Option<Ordering> {
    let parts = |text: &str| {
        let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if !whole.bytes().chain(fraction.bytes()).all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let (whole, fraction) = (whole.trim_start_matches('0').to_owned(), fraction.trim_end_matches('0').to_owned());
        Some((is_negative && !(whole.is_empty() && fraction.is_empty()), whole, fraction))
    };
    let ((is_negative, whole, fraction), (is_other_negative, other_whole, other_fraction)) =
        (parts(one)?, parts(other)?);
    let size = whole.len().cmp(&other_whole.len()).then(whole.cmp(&other_whole)).then(fraction.cmp(&other_fraction));
    Some(match (is_negative, is_other_negative) {
        (false, false) => size,
        (true, true) => size.reverse(),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    })
}

/// Compares an integer with a float, without rounding either of them.
fn of_both(integer: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    // Conversions beyond the range of i128 saturate.
    let whole = float.floor();
    Some(integer.cmp(&(whole as i128)).then(if float > whole { Ordering::Less } else { Ordering::Equal }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::component::{Form, mask};
    use headrace_engine::tensor::shape::Shape;

    fn met(values: Vec<f64>, op: &str, value: Value) -> Vec<bool> {
        let component = Component::of("x", DType::Float64, Form::Plain);
        let condition = Condition { component, op: Op::of_name(op).unwrap(), values: vec![value] };
        let mask = mask((0..values.len()).map(|row| row != 1)).unwrap();
        let values = Column::Dense(Tensor::from_values(Shape::new(&[values.len()]), values).unwrap());
        condition.met(&[values, mask]).unwrap()
    }

    #[test]
    fn null_matches_no_condition_and_nan_only_inequality() {
        let values = || vec![1.0, 1.0, f64::NAN, 2.5];
        assert_eq!(met(values(), "==", Value::Integer(1)), [true, false, false, false]);
        assert_eq!(met(values(), "!=", Value::Integer(1)), [false, false, true, true]);
        assert_eq!(met(values(), ">", Value::Float(1.0)), [false, false, false, true]);
        assert_eq!(met(values(), "<=", Value::Integer(2)), [true, false, false, false]);
    }

    #[test]
    fn decimals_are_compared_by_their_digits() {
        let ordered = ["-10.01", "-10", "-9.5", "-0.001", "0", "0.1", "0.10000000000000000001", "2", "10", "100.5"];
        for (number, one) in ordered.iter().enumerate() {
            for (other_number, other) in ordered.iter().enumerate() {
                assert_eq!(of_decimals(one, other), Some(number.cmp(&other_number)), "{one} {other}");
            }
        }
        for (one, other) in [("-0.00", "0"), ("1.50", "1.5"), ("007", "7.0")] {
            assert_eq!(of_decimals(one, other), Some(Ordering::Equal));
        }
        assert_eq!(of_decimals("1e5", "1"), None);
    }

    #[test]
    fn integers_and_floats_are_compared_exactly() {
        let large = (1_i128 << 53) + 1;
        assert_eq!(of_both(large, (1_i64 << 53) as f64), Some(Ordering::Greater));
        assert_eq!(of_both(2, 2.5), Some(Ordering::Less));
        assert_eq!(of_both(-3, -2.5), Some(Ordering::Less));
        assert_eq!(of_both(5, f64::INFINITY), Some(Ordering::Less));
        assert_eq!(of_both(5, f64::NAN), None);
    }
}
