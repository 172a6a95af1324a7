//! Time units of NumPy's `datetime64` and `timedelta64`, and times as text.

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, Timelike};

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// 24 hours.
    Day,
    /// A second.
    Second,
    /// A thousandth of a second.
    Millisecond,
    /// A millionth of a second.
    Microsecond,
    /// A billionth of a second.
    Nanosecond,
}

/// NumPy's `NaT`, which is not a time.
pub const NOT_A_TIME: i64 = i64::MIN;
const SECONDS_OF_A_DAY: i128 = 86_400;
const NANOSECONDS: i128 = 1_000_000_000;
/// The nanoseconds of a regular second. For a leap second, chrono counts more than this.
const MOST_NANOSECONDS: u32 = 999_999_999;

impl TimeUnit {
    const ALL: [(Self, &str); 5] = [
        (Self::Day, "D"),
        (Self::Second, "s"),
        (Self::Millisecond, "ms"),
        (Self::Microsecond, "us"),
        (Self::Nanosecond, "ns"),
    ];

    /// Returns the unit with this NumPy name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, other)| *other == name).map(|(unit, _)| *unit)
    }

    /// NumPy's name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(unit, _)| *unit == self).map_or("", |(_, name)| name)
    }

    fn nanoseconds(self) -> i128 {
        match self {
            Self::Day => SECONDS_OF_A_DAY * NANOSECONDS,
            Self::Second => NANOSECONDS,
            Self::Millisecond => 1_000_000,
            Self::Microsecond => 1000,
            Self::Nanosecond => 1,
        }
    }

    /// Converts a number of this unit to another unit, if the result is exact.
    pub fn exactly(self, value: i64, other: Self) -> Option<i64> {
        other.of_nanoseconds(i128::from(value) * self.nanoseconds())
    }

    /// Converts nanoseconds to this unit, if the result is exact.
    pub fn of_nanoseconds(self, count: i128) -> Option<i64> {
        let is_whole = count % self.nanoseconds() == 0;
        is_whole.then(|| i64::try_from(count / self.nanoseconds()).ok()).flatten().filter(|time| *time != NOT_A_TIME)
    }

    /// Parses an ISO 8601 text as the time since 1970, if this unit can represent it exactly. A
    /// text with an offset is converted to UTC.
    pub fn of_text(self, text: &str) -> Option<i64> {
        if digits_of_fraction(text) > 9 {
            return None;
        }
        let time = parsed(text)?;
        if time.nanosecond() > MOST_NANOSECONDS {
            return None;
        }
        let time = time.and_utc();
        self.of_nanoseconds(i128::from(time.timestamp()) * NANOSECONDS + i128::from(time.timestamp_subsec_nanos()))
    }
}

fn parsed(text: &str) -> Option<NaiveDateTime> {
    if let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        return date.and_hms_opt(0, 0, 0);
    }
    let separated = match text.as_bytes().get(10) {
        Some(b' ') => text.replacen(' ', "T", 1),
        _ => text.to_owned(),
    };
    let zoned = ["%Y-%m-%dT%H:%M:%S%.f%:z", "%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M%#z"];
    let utc = separated.strip_suffix('Z').unwrap_or(&separated);
    let plain = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M"];
    let of_utc = plain.iter().find_map(|form| NaiveDateTime::parse_from_str(utc, form).ok());
    let zoned = || {
        let time: Option<DateTime<FixedOffset>> =
            zoned.iter().find_map(|form| DateTime::parse_from_str(&separated, form).ok());
        time.map(|time| time.naive_utc())
    };
    of_utc.or_else(zoned)
}

/// The number of digits after the decimal point of a text, without trailing zeros.
fn digits_of_fraction(text: &str) -> usize {
    let Some((_, fraction)) = text.split_once('.') else { return 0 };
    let end = fraction.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(fraction.len());
    fraction[..end].trim_end_matches('0').len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_conversion_is_exact_or_fails() {
        assert_eq!(TimeUnit::Day.exactly(2, TimeUnit::Second), Some(172_800));
        assert_eq!(TimeUnit::Nanosecond.exactly(5000, TimeUnit::Microsecond), Some(5));
        assert_eq!(TimeUnit::Nanosecond.exactly(5001, TimeUnit::Microsecond), None);
        assert_eq!(TimeUnit::Second.exactly(i64::MAX, TimeUnit::Nanosecond), None);
        assert_eq!(TimeUnit::Second.exactly(i64::MIN, TimeUnit::Second), None);
        assert_eq!(TimeUnit::Millisecond.exactly(-86_400_000, TimeUnit::Day), Some(-1));
    }

    #[test]
    fn times_are_parsed_from_text() {
        for (text, unit, expected) in [
            ("1970-01-02", TimeUnit::Day, Some(1)),
            ("1970-01-01T00:00:01", TimeUnit::Second, Some(1)),
            ("1970-01-01 00:00:01.5", TimeUnit::Millisecond, Some(1500)),
            ("1970-01-01T00:00:01.5Z", TimeUnit::Second, None),
            ("1970-01-01T02:00:00+02:00", TimeUnit::Microsecond, Some(0)),
            ("1970-01-01T00:00-0100", TimeUnit::Second, Some(3600)),
            ("1969-12-31T23:59:59.999999999", TimeUnit::Nanosecond, Some(-1)),
            ("1970-01-01T00:00:00.0000000001", TimeUnit::Nanosecond, None),
            ("1970-01-01T00:00:60", TimeUnit::Second, None),
            ("1970-13-01", TimeUnit::Day, None),
            ("yesterday", TimeUnit::Day, None),
            ("9999-12-31", TimeUnit::Nanosecond, None),
        ] {
            assert_eq!(unit.of_text(text), expected, "{text}");
        }
    }
}
