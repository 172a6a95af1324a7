//! Chooses which input the next row of a mixture comes from.

use crate::checkpoint::damaged;
use crate::nodes::interleave::{Choose, Shares};
use headrace_engine::error::Result;
use headrace_engine::philox::Philox;
use std::sync::Arc;

/// The weights of a mixture.
#[derive(Clone, Debug)]
pub struct Weights {
    /// The positions at which the weights change, in ascending order from 0, each with one weight
    /// per part.
    pub schedule: Arc<[(u64, Vec<f64>)]>,
    /// A number for the name of each part, or `None` if the parts have no names.
    pub ids: Option<Arc<[u64]>>,
    /// The column whose lengths are balanced, or `None` to balance the numbers of rows.
    pub measured: Option<usize>,
}

/// When a mixture ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopWhen {
    /// Ends as soon as one input has ended.
    First,
    /// Once all inputs have ended.
    All,
}

/// Draws the input of the next row by weight, or chooses the input that is furthest below its
/// share.
pub struct Mixture {
    random: Philox,
    weights: Weights,
    has_ended: Vec<bool>,
    stop_when: StopWhen,
    /// The number of rows taken so far.
    position: u64,
    /// The total size of the rows taken from each input under the current weights.
    taken: Vec<u64>,
    /// The current weights, with 0 for inputs that have ended. `None` if no weight is positive.
    current: Option<Vec<f64>>,
    /// The position at which the weights change next.
    border: Option<u64>,
}

impl Mixture {
    /// Creates a mixture whose draws depend on the seed and the pass.
    pub fn new(weights: Weights, stop_when: StopWhen, (seed, pass): (u64, u64)) -> Self {
        let num_inputs = weights.schedule.first().map_or(0, |(_, weights)| weights.len());
        let random = Philox::new(seed.cast_signed(), pass.cast_signed());
        let (has_ended, taken) = ((0..num_inputs).map(|_| false).collect(), (0..num_inputs).map(|_| 0).collect());
        let (current, border) = (None, None);
        let mut mixture = Self { random, weights, has_ended, stop_when, position: 0, taken, current, border };
        mixture.look();
        mixture
    }

    /// Updates the weights of the remaining inputs. If all of them are 0, moves on to the next
    /// weights that are not.
    fn look(&mut self) {
        let schedule = &self.weights.schedule;
        let behind = schedule.partition_point(|(position, _)| *position <= self.position);
        let alive = |weights: &[f64]| -> Vec<_> {
            let weights = weights.iter().zip(&self.has_ended);
            weights.map(|(weight, has_ended)| if *has_ended { 0.0 } else { *weight }).collect()
        };
        let mut weights = schedule[behind.saturating_sub(1)..].iter().map(|(_, weights)| alive(weights));
        self.current = weights.find(|weights| weights.iter().any(|weight| *weight > 0.0));
        self.border = schedule.get(behind).map(|(position, _)| *position);
    }

    /// A number in [0, 1).
    fn draw(&mut self) -> f64 {
        let bits = u64::from(self.random.next_u32()) << 32 | u64::from(self.random.next_u32());
        (bits >> 11) as f64 * (0.5_f64).powi(53)
    }

    /// The input that is furthest below its share.
    fn furthest_behind(&self, weights: &[f64]) -> Option<usize> {
        let share = |input: usize| self.taken[input] as f64 / weights[input];
        let inputs = (0..weights.len()).filter(|input| weights[*input] > 0.0);
        inputs.min_by(|one, other| share(*one).total_cmp(&share(*other)))
    }
}

/// The input that a draw from [0, 1) selects.
fn drawn(weights: &[f64], draw: f64) -> Option<usize> {
    let mut drawn = draw * weights.iter().sum::<f64>();
    let last = weights.iter().rposition(|weight| *weight > 0.0)?;
    for (input, weight) in weights[..last].iter().enumerate() {
        if drawn < *weight {
            return Some(input);
        }
        drawn -= weight;
    }
    Some(last)
}

impl Choose for Mixture {
    fn next(&mut self) -> Option<usize> {
        let draw = if self.weights.measured.is_none() { self.draw() } else { 0.0 };
        let weights = self.current.as_deref()?;
        match self.weights.measured {
            None => drawn(weights, draw),
            Some(_) => self.furthest_behind(weights),
        }
    }

    fn leave_out(&mut self, input: usize) -> Result<bool> {
        if let Some(has_ended) = self.has_ended.get_mut(input) {
            *has_ended = true;
        }
        self.look();
        Ok(self.stop_when == StopWhen::All)
    }

    fn number(&self) -> u64 {
        self.random.position()
    }

    fn go_on(&mut self, number: u64) {
        self.random.move_to(number);
    }

    fn measured(&self) -> Option<usize> {
        self.weights.measured
    }

    fn took(&mut self, input: usize, size: u64) -> bool {
        self.position += 1;
        if let Some(taken) = self.taken.get_mut(input) {
            *taken = taken.saturating_add(size);
        }
        let is_border = self.border == Some(self.position);
        if is_border {
            self.taken.fill(0);
            self.look();
        }
        is_border
    }

    fn shares(&self) -> Option<Shares> {
        let ids = match &self.weights.ids {
            Some(ids) => ids.to_vec(),
            None if self.weights.schedule.len() == 1 && self.weights.measured.is_none() => return None,
            None => (0..self.taken.len() as u64).collect(),
        };
        Some(Shares { position: self.position, ids, taken: self.taken.clone() })
    }

    fn go_on_with(&mut self, shares: &Shares) -> Result<()> {
        let mine = self.shares().ok_or_else(damaged)?;
        self.position = shares.position;
        self.look();
        // If the parts have changed, start counting sizes again.
        if mine.ids == shares.ids {
            self.taken.clone_from(&shares.taken);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixture(schedule: &[(u64, &[f64])], measured: Option<usize>) -> Mixture {
        let schedule = schedule.iter().map(|(position, weights)| (*position, weights.to_vec())).collect();
        Mixture::new(Weights { schedule, ids: None, measured }, StopWhen::All, (7, 0))
    }

    fn counts(mixture: &mut Mixture, num_rows: u64, sizes: &[u64]) -> Vec<u64> {
        let mut counts = vec![0; sizes.len()];
        for _ in 0..num_rows {
            let input = mixture.next().unwrap();
            counts[input] += sizes[input];
            mixture.took(input, sizes[input]);
        }
        counts
    }

    #[test]
    fn inputs_are_drawn_in_proportion_to_their_weights() {
        let mut drawn = mixture(&[(0, &[0.5, 0.25, 0.25])], None);
        let totals = counts(&mut drawn, 10_000, &[1, 1, 1]);
        assert!((4800..5200).contains(&totals[0]) && (2300..2700).contains(&totals[1]), "{totals:?}");
        assert!(drawn.leave_out(0).unwrap());
        assert_eq!(counts(&mut drawn, 100, &[1, 1, 1])[0], 0);
        assert!(drawn.leave_out(2).unwrap());
        assert_eq!(counts(&mut drawn, 100, &[1, 1, 1]), [0, 100, 0]);
        assert!(drawn.leave_out(1).unwrap());
        assert_eq!(drawn.next(), None);
    }

    #[test]
    fn weights_change_at_the_scheduled_positions() {
        let mut drawn = mixture(&[(0, &[1.0, 0.0]), (10, &[0.0, 1.0]), (15, &[1.0, 0.0])], None);
        assert_eq!(counts(&mut drawn, 10, &[1, 1]), [10, 0]);
        assert_eq!(counts(&mut drawn, 5, &[1, 1]), [0, 5]);
        assert_eq!(counts(&mut drawn, 5, &[1, 1]), [5, 0]);
        // Weights are skipped if all inputs with a positive weight have ended.
        let mut drawn = mixture(&[(0, &[1.0, 0.0]), (10, &[0.0, 1.0])], None);
        drawn.leave_out(0).unwrap();
        assert_eq!(drawn.next(), Some(1));
    }

    #[test]
    fn sizes_are_divided_by_weight() {
        let mut measured = mixture(&[(0, &[3.0, 1.0])], Some(0));
        let totals = counts(&mut measured, 1000, &[10, 1]);
        assert!((totals[0] as f64 / totals[1] as f64 - 3.0).abs() < 0.1, "{totals:?}");
    }
}
