//! The passes that optimise a program, one per file. A pass only affects time and memory: values
//! and errors stay the same.

mod change_in_place;
mod drop_constants;
mod fill_slots;
mod mark_read_outputs;
mod move_values;
mod specialise;

#[cfg(test)]
mod testing;

use super::draft::Draft;

type Pass = fn(&mut Draft);

/// All passes, in the order in which they are applied.
pub(super) const ALL: [Pass; 6] = [
    specialise::specialise,
    drop_constants::drop_constants,
    change_in_place::change_in_place,
    fill_slots::fill_slots,
    move_values::move_values,
    mark_read_outputs::mark_read_outputs,
];
