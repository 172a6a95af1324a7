//! Parses numbers as TensorFlow's kernels do.
//!
//! Spaces around a number are skipped. Integers are decimal, with or without a sign. Floats may
//! also be hexadecimal, `inf`, `infinity`, `nan` or `nan(...)`, in any case. A float that is too
//! large becomes infinity.

use crate::tensor::dtype::Numeric;

/// A number type that can be parsed.
pub trait FromText: Numeric {
    /// Parses the whole text. Returns `None` if it is not a number of this type.
    fn from_text(text: &[u8]) -> Option<Self>;

    /// Parses the number at the start of `text`. Returns the number and its length, or `None` if it
    /// is not in the usual form.
    fn from_start(text: &[u8]) -> Option<(Self, usize)>;
}

impl FromText for i32 {
    fn from_text(text: &[u8]) -> Option<Self> {
        std::str::from_utf8(trimmed(text)).ok()?.parse().ok()
    }

    #[inline]
    fn from_start(text: &[u8]) -> Option<(Self, usize)> {
        let (value, length) = i64::from_start(text)?;
        Some((value.try_into().ok()?, length))
    }
}

impl FromText for i64 {
    fn from_text(text: &[u8]) -> Option<Self> {
        std::str::from_utf8(trimmed(text)).ok()?.parse().ok()
    }

    #[inline]
    fn from_start(text: &[u8]) -> Option<(Self, usize)> {
        const MAX_DIGITS: usize = 18; // This many digits always fit.
        let (is_negative, digits) = match text {
            [b'-', digits @ ..] => (true, digits),
            digits => (false, digits),
        };
        let mut value = 0;
        let mut count = 0;
        while let Some(digit @ b'0'..=b'9') = digits.get(count).filter(|_| count < MAX_DIGITS) {
            value = value * 10 + i64::from(digit - b'0');
            count += 1;
        }
        let value = if is_negative { -value } else { value };
        Some((value, count + usize::from(is_negative))).filter(|_| count > 0)
    }
}

impl FromText for f32 {
    fn from_text(text: &[u8]) -> Option<Self> {
        let round = |mantissa| f64::from(mantissa as f32);
        usual_float(text).or_else(|| special(trimmed(text), round).map(|value| value as f32))
    }

    #[inline]
    fn from_start(text: &[u8]) -> Option<(Self, usize)> {
        match short_decimal(text) {
            // Rounding to double first only changes the result halfway between two floats.
            Some((wide, length)) if wide.to_bits() & HALF_ULP_MASK != HALF_ULP => Some((wide as f32, length)),
            _ => any_decimal(text),
        }
    }
}

impl FromText for f64 {
    fn from_text(text: &[u8]) -> Option<Self> {
        usual_float(text).or_else(|| special(trimmed(text), |mantissa| mantissa as f64))
    }

    #[inline]
    fn from_start(text: &[u8]) -> Option<(Self, usize)> {
        short_decimal(text).or_else(|| any_decimal(text))
    }
}

/// The bits of a double beyond a float's mantissa, and their value halfway between two floats.
const HALF_ULP_MASK: u64 = (1 << 29) - 1;
const HALF_ULP: u64 = 1 << 28;

#[cold]
fn any_decimal<T: fast_float2::FastFloat>(text: &[u8]) -> Option<(T, usize)> {
    fast_float2::parse_partial(text).ok()
}

/// Parses the number at the start of `text` and rounds it once. Returns the number and its length.
/// Returns `None` if it has an exponent, no digits or too many digits. Most numbers in files are
/// short, and this is faster than the general parser.
#[inline(always)]
fn short_decimal(text: &[u8]) -> Option<(f64, usize)> {
    /// An integer with this many digits is exact in a double, and so is the power of ten that it is
    /// divided by.
    const MAX_DIGITS: usize = 15;
    let start = usize::from(text.first() == Some(&b'-'));
    let (mut mantissa, point) = digit_by_digit(text, start, 0);
    let (mut end, mut num_decimals) = (point, 0);
    if text.get(point) == Some(&b'.') {
        (mantissa, end) = eight_digits(text, point + 1, mantissa);
        num_decimals = end - (point + 1);
    }
    let num_digits = point - start + num_decimals;
    if !(1..=MAX_DIGITS).contains(&num_digits) || matches!(text.get(end), Some(b'e' | b'E')) {
        return None;
    }
    let value = mantissa.cast_signed() as f64 / POWERS_OF_TEN[num_decimals];
    // Avoid a branch, because the sign of the next number cannot be predicted.
    Some((f64::from_bits(value.to_bits() | (start as u64) << 63), end))
}

const POWERS_OF_TEN: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Appends the digits of `text` from `at` on to the number `before`. Returns the number and the
/// position after the digits. If there are too many digits, the lowest bits are kept.
#[inline]
fn digit_by_digit(text: &[u8], mut at: usize, before: u64) -> (u64, usize) {
    let mut value = before;
    while let Some(digit @ b'0'..=b'9') = text.get(at) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        at += 1;
    }
    (value, at)
}

/// Like [`digit_by_digit`], but parses the first eight digits at once if eight bytes are available.
///
/// Source: Daniel Lemire, "Quickly parsing eight digits" (2018): digits are added in pairs, then
/// pairs of pairs, within one word.
#[inline]
fn eight_digits(text: &[u8], at: usize, before: u64) -> (u64, usize) {
    const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk()) else {
        return digit_by_digit(text, at, before);
    };
    let digits = u64::from_le_bytes(*chunk) ^ 0x3030_3030_3030_3030;
    // Find the first byte that is not a digit. A carry out of it only affects later bytes.
    let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    let count = (others.trailing_zeros() / 8) as usize;
    // If there are fewer digits, pad them with leading zeros.
    let digits = digits.checked_shl(64 - 8 * count as u32).unwrap_or(0);
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let high = (pairs & 0xff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let low = (pairs >> 16 & 0xff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    let value = before.wrapping_mul(POWERS[count]).wrapping_add(high.wrapping_add(low) >> 32);
    match count {
        8 => digit_by_digit(text, at + 8, value),
        _ => (value, at + count),
    }
}

fn usual_float<T: fast_float2::FastFloat>(text: &[u8]) -> Option<T> {
    fast_float2::parse(text).or_else(|_| fast_float2::parse(trimmed(text))).ok()
}

fn trimmed(text: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let Some(start) = text.iter().position(|byte| !is_space(byte)) else { return &[] };
    let end = text.iter().rposition(|byte| !is_space(byte)).map_or(start, |last| last + 1);
    &text[start..end]
}

/// Parses the forms that `fast_float2` does not support: hexadecimal floats and `nan(...)`. `round`
/// rounds a mantissa to the target type.
fn special(text: &[u8], round: impl Fn(u64) -> f64) -> Option<f64> {
    let (sign, text) = match text {
        [b'-', rest @ ..] => (-1.0, rest),
        [b'+', rest @ ..] => (1.0, rest),
        all => (1.0, all),
    };
    let value = match text {
        [b'0', b'x' | b'X', digits @ ..] => hexadecimal(digits, round)?,
        [b'n' | b'N', b'a' | b'A', b'n' | b'N', b'(', payload @ .., b')']
            if payload.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') =>
        {
            f64::NAN
        }
        _ => return None,
    };
    Some(sign * value)
}

fn hexadecimal(text: &[u8], round: impl Fn(u64) -> f64) -> Option<f64> {
    let end = text.iter().position(|byte| matches!(byte, b'p' | b'P')).unwrap_or(text.len());
    let (digits, power) = text.split_at(end);
    let power = match power {
        [] => 0,
        [_, power @ ..] => exponent(power)?,
    };
    let (whole, fraction) = match digits.iter().position(|byte| *byte == b'.') {
        Some(point) => (&digits[..point], &digits[point + 1..]),
        None => (digits, &[][..]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (mut mantissa, mut shift) = (0_u64, 0_i64);
    for (digit, step) in whole.iter().map(|digit| (digit, 0)).chain(fraction.iter().map(|digit| (digit, -4))) {
        let digit = u64::from(char::from(*digit).to_digit(16)?);
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | digit;
            shift += step;
        } else {
            // Digits that no longer fit still determine how a tie is rounded.
            mantissa |= u64::from(digit != 0);
            shift += step + 4;
        }
    }
    let power = (power + shift).clamp(-1200, 1200);
    // In two steps, because a subnormal number is too far from 1 for a single one.
    Some(round(mantissa) * power_of_two(power / 2) * power_of_two(power - power / 2))
}

/// Parses a decimal exponent. It is clamped if it is so large that its value does not matter.
fn exponent(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0_i64, |value, digit| (value * 10 + i64::from(digit - b'0')).min(1 << 40));
    Some(if text[0] == b'-' { -value } else { value })
}

/// Computes two to a power between -1022 and 1023.
fn power_of_two(power: i64) -> f64 {
    f64::from_bits(((1023 + power) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn integers_are_decimal_and_limited() {
        for (text, value) in [("1", 1), ("+7", 7), (" -0 ", 0), ("\t01\n", 1), ("\x0b2147483647\x0c", i32::MAX)] {
            assert_eq!(i32::from_text(text.as_bytes()), Some(value), "{text:?}");
            assert_eq!(i64::from_text(text.as_bytes()), Some(i64::from(value)), "{text:?}");
        }
        for text in ["", " ", "-", "- 1", "1.0", "1e3", "0x10", "1_0", "--1", "1 2", "1\0", "\u{a0}1"] {
            assert_eq!(i64::from_text(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(i32::from_text(b"2147483648"), None);
        assert_eq!(i64::from_text(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(i64::from_text(b"9223372036854775808"), None);
        assert_eq!(i64::from_text(b"1\xff"), None);
    }

    #[test]
    fn floats_are_decimal_hexadecimal_or_special() {
        let inf = f64::INFINITY;
        for (text, value) in [
            ("1.", 1.0),
            (" +.5\n", 0.5),
            ("1E+5", 1e5),
            ("1e0005", 1e5),
            ("0e99999999999", 0.0),
            ("1e400", inf),
            ("-Infinity", -inf),
            ("iNf", inf),
            ("0x10", 16.0),
            ("-0X1.8p1", -3.0),
            ("0x.8P-1", 0.25),
            ("0x1e5", 485.0),
            ("0x0.0000000000000000000001p88", 1.0),
            ("0x10000000000000000000000p-88", 1.0),
            ("0x1p99999999999999999999", inf),
            ("0x1p-99999999999999999999", 0.0),
            ("0x1p-1074", f64::from_bits(1)),
        ] {
            assert_eq!(f64::from_text(text.as_bytes()), Some(value), "{text:?}");
        }
        for text in ["nan", "-NaN", "nan(12_a)"] {
            assert!(f64::from_text(text.as_bytes()).unwrap().is_nan(), "{text:?}");
        }
        for text in ["", "  ", ".", "1e", "e5", "1f", "infx", "nan(", "nan(-)", "0x", "0x.", "0x1p", "0xg", "1,5"] {
            assert_eq!(f64::from_text(text.as_bytes()), None, "{text:?}");
            assert_eq!(f32::from_text(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn floats_are_rounded_once() {
        assert_eq!(f32::from_text(b"1.00000017881393421514957253748434595763683319091796875001"), Some(1.000_000_1));
        assert_eq!(f32::from_text(b"0xffffff8"), Some(268_435_456.0));
        assert_eq!(f32::from_text(b"0x7fffff8"), Some(134_217_720.0));
        assert_eq!(f32::from_text(b"0x1.000001000000000000000000000001"), Some(1.000_000_1));
        assert_eq!(f32::from_text(b"3.5e38"), Some(f32::INFINITY));
    }

    #[test]
    fn number_ends_before_the_first_non_numeric_character() {
        for (text, expected) in [
            ("12,3", Some((12, 2))),
            ("-7", Some((-7, 2))),
            ("-", None),
            ("", None),
            (" 1", None),
            ("999999999999999999", Some((999_999_999_999_999_999, 18))),
            ("9999999999999999999", Some((999_999_999_999_999_999, 18))),
        ] {
            assert_eq!(i64::from_start(text.as_bytes()), expected, "{text:?}");
        }
        assert_eq!(i32::from_start(b"-2147483648,"), Some((i32::MIN, 11)));
        assert_eq!(i32::from_start(b"2147483648"), None);
        assert_eq!(f32::from_start(b"-1.5e1,2"), Some((-15.0, 6)));
        assert_eq!(f64::from_start(b",2"), None);
    }

    proptest! {
        #[test]
        fn printed_numbers_parse_to_the_same_value(int: i64, bits: u64) {
            prop_assert_eq!(i64::from_text(int.to_string().as_bytes()), Some(int));
            let float = f64::from_bits(bits);
            let read = f64::from_text(float.to_string().as_bytes()).unwrap();
            prop_assert!(read == float || read.is_nan() && float.is_nan());
        }

        #[test]
        fn short_numbers_are_rounded_like_long_ones(
            text in "-?[0-9]{0,10}[.]?[0-9]{0,18}(e-?[0-9])?[,.e-]?[0-9]{0,8}"
        ) {
            let both = |text: &[u8]| (f32::from_start(text), f64::from_start(text));
            let expected =
                (fast_float2::parse_partial(&text).ok(), fast_float2::parse_partial(&text).ok());
            prop_assert_eq!(both(text.as_bytes()), expected);
        }

        #[test]
        fn floats_near_halfway_are_rounded_once(bits: u32, power in -4..12_i32, off in -1..2_i64, decimals in 0..8_usize) {
            let float = f64::from((1 << 24 | bits >> 8) as f32) * f64::from(2_f32.powi(power)) + 2_f64.powi(power - 1);
            let near = f64::from_bits(float.to_bits().wrapping_add_signed(off));
            let text = format!("{near:.decimals$}");
            prop_assert_eq!(f32::from_start(text.as_bytes()), Some((text.parse().unwrap(), text.len())));
        }

        #[test]
        fn parsing_arbitrary_text_never_panics(text: Vec<u8>) {
            let _ = (f32::from_text(&text), f64::from_text(&text), i32::from_text(&text));
        }
    }
}
