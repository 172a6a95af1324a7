//! 96-bit timestamps from Parquet files, as bytes.

/// The length of a 96-bit Parquet timestamp, which is read as bytes: the nanoseconds of the day and
/// the Julian day, both little-endian.
pub const INT96_BYTES: i32 = 12;
/// The Julian day of 1970-01-01.
const JULIAN_DAY: i128 = 2_440_588;
const NANOSECONDS_OF_A_DAY: i128 = 86_400_000_000_000;

/// Converts a 96-bit timestamp to nanoseconds since 1970.
pub fn int96_nanoseconds(bytes: &[u8]) -> Option<i128> {
    let (nanoseconds, day) = bytes.split_first_chunk::<8>()?;
    let day = i32::from_le_bytes(day.try_into().ok()?);
    let nanoseconds = i64::from_le_bytes(*nanoseconds);
    Some((i128::from(day) - JULIAN_DAY) * NANOSECONDS_OF_A_DAY + i128::from(nanoseconds))
}
