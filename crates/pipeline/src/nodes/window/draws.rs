//! Replays a window's random draws to find out which rows are waiting in it, without the rows
//! themselves.

use crate::checkpoint::damaged;
use headrace_engine::error::Result;
use headrace_engine::philox::Philox;

/// How far a window has drawn.
pub struct Draws {
    /// The number of rows drawn.
    pub drawn: u64,
    /// The number of random numbers that the draws consumed.
    pub position: u64,
    /// Once the input has ended: its number of rows, and the position of the random stream at that
    /// point.
    pub end: Option<(u64, u64)>,
}

impl Draws {
    /// Returns the row number at each position of a window of `size` rows, and the number of the
    /// next input row.
    ///
    /// Until the input ends, draw `k` takes out a row and puts row `size + k` in its place. So it
    /// is enough to go back through the draws until each position has been hit once. That takes
    /// about `size * ln(size)` draws, no matter how many there were.
    pub fn waiting(&self, random: &mut Philox, size: usize) -> Result<(Vec<u64>, u64)> {
        let full = size as u64;
        let Some((total, position)) = self.end else {
            let next = full.checked_add(self.drawn).ok_or_else(damaged)?;
            return Ok((gone_back(Backwards::new(random, self.position), size, self.drawn)?, next));
        };
        // The draw that reached the end of the input removed a row without replacing it.
        let drawn = total.checked_sub(full).map_or(0, |replaced| replaced + 1);
        let mut waiting = match drawn.checked_sub(1) {
            None => (0..total).collect(),
            Some(replaced) => {
                let mut back = Backwards::new(random, position);
                let hole = back.draw(full).ok_or_else(damaged)?;
                let mut waiting = gone_back(back, size, replaced)?;
                waiting.swap_remove(hole);
                waiting
            }
        };
        random.move_to(position);
        for _ in drawn..self.drawn {
            if waiting.is_empty() {
                return Err(damaged());
            }
            let slot = below(random, waiting.len() as u64) as usize;
            waiting.swap_remove(slot);
        }
        Ok((waiting, total))
    }
}

/// Returns the rows waiting in a full window after `drawn` draws.
fn gone_back(mut draws: Backwards, size: usize, mut drawn: u64) -> Result<Vec<u64>> {
    let mut waiting: Vec<u64> = (0..size as u64).collect();
    let mut is_known: Vec<bool> = std::iter::repeat_n(false, size).collect();
    let mut num_unknown = size;
    while num_unknown > 0
        && drawn > 0
        && let Some(slot) = draws.draw(size as u64)
    {
        drawn -= 1;
        if !std::mem::replace(&mut is_known[slot], true) {
            waiting[slot] = (size as u64).checked_add(drawn).ok_or_else(damaged)?;
            num_unknown -= 1;
        }
    }
    Ok(waiting)
}

/// Random draws, in reverse order.
struct Backwards<'a> {
    random: &'a Philox,
    position: u64,
    /// The most recently computed block of random numbers, with its block number.
    block: Option<(u64, [u32; 4])>,
}

impl<'a> Backwards<'a> {
    /// Starts at `position` and goes back from there.
    fn new(random: &'a Philox, position: u64) -> Self {
        Self { random, position, block: None }
    }

    /// Returns the previous draw below `bound`.
    fn draw(&mut self, bound: u64) -> Option<usize> {
        let bound = u32::try_from(bound).ok()?;
        loop {
            self.position = self.position.checked_sub(1)?;
            let (number, slot) = (self.position / 4, self.position % 4);
            let block = match self.block {
                Some((last, block)) if last == number => block,
                _ => self.random.block_at(number),
            };
            self.block = Some((number, block));
            if let Some(drawn) = accepted(block[slot as usize], bound) {
                return Some(drawn as usize);
            }
        }
    }
}

/// Draws a uniform random number below `bound`, which must not be 0.
///
/// Source: Lemire, "Fast Random Integer Generation in an Interval" (ACM TOMACS 29, 2019).
pub fn below(random: &mut Philox, bound: u64) -> u64 {
    // Computing the remainder is slow and almost never needed.
    if let Ok(bound) = u32::try_from(bound) {
        loop {
            if let Some(drawn) = accepted(random.next_u32(), bound) {
                return drawn.into();
            }
        }
    }
    let mut next = || u64::from(random.next_u32()) << 32 | u64::from(random.next_u32());
    loop {
        let product = u128::from(next()) * u128::from(bound);
        let low = product as u64;
        if low >= bound || low >= bound.wrapping_neg() % bound {
            return (product >> 64) as u64;
        }
    }
}

/// Converts a random number to a draw below `bound`. Returns `None` if the number has to be
/// rejected; see [`below`].
fn accepted(random: u32, bound: u32) -> Option<u32> {
    let product = u64::from(random) * u64::from(bound);
    let low = product as u32;
    (low >= bound || low >= bound.wrapping_neg() % bound).then_some((product >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Draws row by row, as a window does. Returns the waiting rows and the state of the draws.
    fn drawn_forward(size: usize, total: u64, drawn: u64) -> (Vec<u64>, Draws) {
        let mut random = Philox::new(3, 4);
        let mut waiting: Vec<u64> = (0..total.min(size as u64)).collect();
        let mut next = waiting.len() as u64;
        let mut end = (total < size as u64).then_some((total, 0));
        for _ in 0..drawn {
            let slot = below(&mut random, waiting.len() as u64) as usize;
            if next < total {
                waiting[slot] = next;
                next += 1;
            } else {
                end = end.or(Some((total, random.position())));
                waiting.swap_remove(slot);
            }
        }
        (waiting, Draws { drawn, position: random.position(), end })
    }

    proptest! {
        #[test]
        fn pending_rows_are_computed_from_the_draws(size in 1_usize..40, total in 1_u64..400, part in 0_u64..=100) {
            let (waiting, draws) = drawn_forward(size, total, total * part / 100);
            let (found, next) = draws.waiting(&mut Philox::new(3, 4), size).unwrap();
            prop_assert_eq!(&found, &waiting);
            prop_assert_eq!(next, if draws.end.is_some() { total } else { size as u64 + draws.drawn });
        }
    }

    #[test]
    fn state_with_more_draws_than_rows_is_rejected() {
        let draws = Draws { drawn: 9, position: 9, end: Some((3, 0)) };
        assert!(draws.waiting(&mut Philox::new(3, 4), 5).is_err());
        let draws = Draws { drawn: u64::MAX, position: 9, end: None };
        assert!(draws.waiting(&mut Philox::new(3, 4), 5).is_err());
    }
}
