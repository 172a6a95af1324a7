//! Checks whether a type can round-trip a number as it was written.

use super::number::FromText;

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Written as an integer.
    Int,
    /// With a decimal point or an exponent.
    Decimal,
    /// `nan`, `inf` or `infinity`, in any case.
    Special,
}

/// Determines how a number is written. Returns `None` for texts that only look like a number, such
/// as `01234`, `+49` or `0x10`.
pub fn form(text: &[u8]) -> Option<Form> {
    let text = text.trim_ascii();
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let words: [&[u8]; 3] = [b"nan", b"inf", b"infinity"];
    if words.iter().any(|word| digits.eq_ignore_ascii_case(word)) {
        return Some(Form::Special);
    }
    let (whole, rest) = run_of_digits(digits);
    if whole.len() > 1 && whole[0] == b'0' {
        return None;
    }
    let (fraction, rest, has_point) = match rest {
        [b'.', rest @ ..] => {
            let (fraction, rest) = run_of_digits(rest);
            (fraction, rest, true)
        }
        rest => (&[][..], rest, false),
    };
    let has_exponent = match rest {
        [] => false,
        [b'e' | b'E', b'+' | b'-', power @ ..] | [b'e' | b'E', power @ ..] => {
            if power.is_empty() || !power.iter().all(u8::is_ascii_digit) {
                return None;
            }
            true
        }
        _ => return None,
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // No integer is a negative zero.
    let is_int = !has_point && !has_exponent && text != b"-0";
    Some(if is_int { Form::Int } else { Form::Decimal })
}

fn run_of_digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len()))
}

/// Returns true if int64 round-trips the text.
pub fn fits_i64(text: &[u8]) -> bool {
    form(text) == Some(Form::Int) && i64::from_text(text).is_some()
}

/// Returns true if float32 preserves the number: printed with the fewest digits that identify it,
/// the float32 is the same number.
pub fn fits_f32(text: &[u8]) -> bool {
    /// Integers with at most this many digits are always preserved.
    const SURE_DIGITS: usize = 6;
    match form(text) {
        None => false,
        Some(Form::Special) => true,
        Some(form) => {
            if form == Form::Int && text.len() <= SURE_DIGITS {
                return true;
            }
            let (Some(narrow), Some(wide)) = (f32::from_text(text), f64::from_text(text)) else { return false };
            fits_f64(text) && is_given_back(narrow, wide)
        }
    }
}

/// Returns true if the nearest float32 preserves a number. `wide` is the number in the text.
pub fn is_given_back(narrow: f32, wide: f64) -> bool {
    if f64::from(narrow) == wide || wide.is_nan() {
        return true;
    }
    // Integers have to be exact, because 123456792 would be a surprising result for 123456790. A
    // number beyond all integer types, such as 1e30, counts as a float.
    !is_whole(wide) && narrow.is_finite() && narrow.to_string().parse() == Ok(wide)
}

/// Returns true if a number is an integer that fits into an integer type.
pub fn is_whole(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() < 2_f64.powi(64)
}

/// Returns true if float64 preserves the number: exactly if it is an integer, and otherwise as the
/// nearest value, which must not be zero or infinite.
pub fn fits_f64(text: &[u8]) -> bool {
    let Some(value) = f64::from_text(text) else { return false };
    match form(text) {
        None => false,
        Some(Form::Special) => true,
        Some(Form::Decimal) => value.is_finite() && (value != 0.0 || is_zero(text)),
        Some(Form::Int) => {
            let exact = std::str::from_utf8(text.trim_ascii()).ok().and_then(|text| text.parse::<i128>().ok());
            exact.is_some_and(|exact| value as i128 == exact)
        }
    }
}

/// Returns true if all digits before the exponent are zeros.
fn is_zero(text: &[u8]) -> bool {
    let mantissa = text.split(|byte| matches!(byte, b'e' | b'E')).next().unwrap_or_default();
    !mantissa.iter().any(|byte| (b'1'..=b'9').contains(byte))
}

/// Returns true if a value parsed from a text differs from it only by rounding, which means by at
/// most `step` relative to the value. Integers must be exact.
pub fn is_rounded(text: &[u8], value: f64, step: f64) -> bool {
    let Some(wide) = f64::from_text(text) else { return false };
    let is_int = form(text) == Some(Form::Int);
    if is_int && !fits_f64(text) || (is_int || is_whole(wide)) && wide != value {
        return false;
    }
    if !wide.is_finite() {
        // The text is an infinity, or the number is too large.
        return !matches!(form(text), Some(Form::Int | Form::Decimal));
    }
    if wide == 0.0 {
        return is_zero(text) || form(text).is_none();
    }
    (value - wide).abs() <= step * wide.abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_that_only_looks_like_a_number_is_not_one() {
        for (text, expected) in [
            ("0", Some(Form::Int)),
            ("-17", Some(Form::Int)),
            (" 12 ", Some(Form::Int)),
            ("-0", Some(Form::Decimal)),
            ("1.50", Some(Form::Decimal)),
            ("5.", Some(Form::Decimal)),
            (".5", Some(Form::Decimal)),
            ("0.5", Some(Form::Decimal)),
            ("1e-7", Some(Form::Decimal)),
            ("1E+05", Some(Form::Decimal)),
            ("NaN", Some(Form::Special)),
            ("-Infinity", Some(Form::Special)),
        ] {
            assert_eq!(form(text.as_bytes()), expected, "{text:?}");
        }
        for text in
            ["", "01234", "-01", "00", "+49", "0x10", "1_0", "1e", "e5", ".", "-", "1.2.3", "1,5", "nan(1)", "1 2"]
        {
            assert_eq!(form(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn each_type_round_trips_the_text_it_can_represent() {
        for (text, int, single, double) in [
            ("123456789", true, false, true),
            ("16777216", true, true, true),
            ("16777217", true, false, true),
            ("9007199254740993", true, false, false),
            ("9223372036854775808", false, true, true),
            ("9223372036854775809", false, false, false),
            ("0.1", false, true, true),
            ("3.1415927", false, true, true),
            ("3.14159265", false, false, true),
            ("1700000001.25", false, false, true),
            ("123456790.0", false, false, true),
            ("0.10000000000000000555", false, true, true),
            ("1e30", false, true, true),
            ("1e39", false, false, true),
            ("1e-50", false, false, true),
            ("1e400", false, false, false),
            ("1e-400", false, false, false),
            ("0e-400", false, true, true),
            ("inf", false, true, true),
            ("01234", false, false, false),
        ] {
            let bytes = text.as_bytes();
            assert_eq!((fits_i64(bytes), fits_f32(bytes), fits_f64(bytes)), (int, single, double), "{text}");
        }
    }

    #[test]
    fn losses_beyond_rounding_are_detected() {
        let single =
            |text: &str| is_rounded(text.as_bytes(), f64::from(f32::from_text(text.as_bytes()).unwrap()), 2e-7);
        for text in ["16777216", "0.1", "1700000001.25", "inf", "nan", "0", "-0.0", "0x10", "1e-38", "3.4e38"] {
            assert!(single(text), "{text}");
        }
        for text in ["123456789", "16777217", "1700000001.0", "1e39", "-1e400", "1e-50", "1e-400", "1.1e-44"] {
            assert!(!single(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_type_round_trips_its_own_output(single: f32, double: f64, int: i64) {
            prop_assume!(single.is_finite() && double.is_finite());
            let (one, other) = (format!("{single:?}"), format!("{double:?}"));
            prop_assert!(fits_f32(one.as_bytes()) || single.fract() == 0.0);
            prop_assert!(fits_f64(other.as_bytes()));
            prop_assert!(fits_i64(int.to_string().as_bytes()));
        }

        #[test]
        fn checking_arbitrary_text_never_panics(text: Vec<u8>) {
            let _ = (fits_i64(&text), fits_f32(&text), fits_f64(&text), is_rounded(&text, 1.0, 0.5));
        }
    }
}
