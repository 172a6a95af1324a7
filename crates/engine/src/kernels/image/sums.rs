//! Sums the values of an image in SIMD lanes.
//!
//! Short runs are summed in single precision in several lanes, and the results are added in double
//! precision. That is accurate enough and several times faster than a single sum.

/// The number of rows of lanes to sum in single precision.
const STRETCH: usize = 64;

/// For each of `LANES` lanes, sums `term` over every `LANES`-th value.
pub fn lane_sums<const LANES: usize>(values: &[f32], term: impl Fn(f32) -> f32) -> [f64; LANES] {
    let mut totals = [0.0; LANES];
    for stretch in values.chunks(LANES * STRETCH) {
        let mut sums = [0.0; LANES];
        let (rows, rest) = stretch.as_chunks::<LANES>();
        for row in rows {
            (0..LANES).for_each(|lane| sums[lane] += term(row[lane]));
        }
        sums.iter_mut().zip(rest).for_each(|(sum, value)| *sum += term(*value));
        totals.iter_mut().zip(sums).for_each(|(total, sum)| *total += f64::from(sum));
    }
    totals
}

/// Sums `term` over all values.
pub fn sum(values: &[f32], term: impl Fn(f32) -> f32) -> f64 {
    lane_sums::<16>(values, term).iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_added_to_its_lane() {
        let values: Vec<f32> = (0..10_000).map(|value| value as f32).collect();
        let sums = lane_sums::<3>(&values, |value| value);
        for (lane, sum) in sums.iter().enumerate() {
            assert_eq!(*sum, (lane..10_000).step_by(3).sum::<usize>() as f64);
        }
        assert_eq!(sum(&values[..1001], |value| value * 2.0), 1_001_000.0);
        assert_eq!(sum(&[], |value| value), 0.0);
    }
}
