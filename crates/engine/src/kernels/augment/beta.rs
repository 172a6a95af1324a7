//! Quantiles of symmetric beta distributions.

use std::f64::consts::{LN_2, PI};

/// Returns the number that a draw from Beta(`alpha`, `alpha`) is below with probability `u`, which
/// is in [0, 1).
pub fn quantile(alpha: f64, u: f64) -> f64 {
    if u > 0.5 {
        return 1.0 - quantile(alpha, 1.0 - u);
    }
    if u <= 0.0 {
        return 0.0;
    }
    let log_beta = 2.0 * log_gamma(alpha) - log_gamma(2.0 * alpha);
    // The logarithm of the answer is between these. It is very small if `alpha` is small.
    let (mut low, mut high) = (-700.0, -LN_2);
    for _ in 0..70 {
        let middle = 0.5 * (low + high);
        match log_cumulative(alpha, middle, log_beta) < u.ln() {
            true => low = middle,
            false => high = middle,
        }
    }
    high.exp()
}

/// The logarithm of the probability of a number below `exp(log_x)`, which is at most 1/2.
///
/// Source: Abramowitz and Stegun, 26.5.4. All terms are positive.
fn log_cumulative(alpha: f64, log_x: f64, log_beta: f64) -> f64 {
    let x = log_x.exp();
    let (mut sum, mut term, mut n) = (1.0, 1.0, 0.0);
    while term > sum * 1e-16 {
        term *= x * (2.0 * alpha + n) / (alpha + 1.0 + n);
        sum += term;
        n += 1.0;
    }
    alpha * (log_x + (-x).ln_1p()) - alpha.ln() - log_beta + f64::ln(sum)
}

/// The logarithm of the gamma function of a positive number, using Stirling's series.
fn log_gamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 12.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let square = x * x;
    let series = (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * square)) / square) / square) / x;
    shift + (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_closed_form_distributions() {
        for u in [1e-9, 0.01, 0.2, 0.5, 0.75, 0.999] {
            assert!((quantile(1.0, u) - u).abs() < 1e-12);
            assert!((quantile(0.5, u) - (0.5 * PI * u).sin().powi(2)).abs() < 1e-12);
            let x = quantile(2.0, u);
            assert!((x * x * (3.0 - 2.0 * x) - u).abs() < 1e-12);
        }
        assert_eq!(quantile(0.3, 0.0), 0.0);
        // With a large parameter, this is nearly a normal distribution with a variance of 1 / (8
        // alpha + 4).
        let deviation = (1.0 / 8004.0_f64).sqrt();
        assert!((quantile(1000.0, 0.841_344_746) - 0.5 - deviation).abs() < 1e-5);
    }
}
