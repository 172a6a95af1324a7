//! The bytes of timestamps of 96 bits, which Parquet files have.

/// The length of a timestamp of 96 bits of Parquet, which is read as bytes: nanoseconds of a day, and
/// the Julian day, both little-endian.
pub const INT96_BYTES: i32 = 12;
/// The Julian day of 1970-01-01.
const JULIAN_DAY: i128 = 2_440_588;
const NANOSECONDS_OF_A_DAY: i128 = 86_400_000_000_000;

/// The nanoseconds since 1970 of a timestamp of 96 bits.
pub fn int96_nanoseconds(bytes: &[u8]) -> Option<i128> {
    let (nanoseconds, day) = bytes.split_first_chunk::<8>()?;
    let day = i32::from_le_bytes(day.try_into().ok()?);
    let nanoseconds = i64::from_le_bytes(*nanoseconds);
    Some((i128::from(day) - JULIAN_DAY) * NANOSECONDS_OF_A_DAY + i128::from(nanoseconds))
}
