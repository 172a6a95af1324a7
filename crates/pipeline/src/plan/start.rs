//! Creates the nodes of a plan for one pass.

use crate::checkpoint::Checkpoint;
use crate::node::Node;
use crate::nodes::count_rows::CountRows;
use crate::nodes::epochs::{Passes, StatefulFunctions};
use crate::nodes::interleave::{Interleave, old_inputs};
use crate::nodes::mixture::Mixture;
use crate::nodes::sources::files::Files;
use crate::nodes::sources::indexed::{IndexedRows, Order};
use crate::nodes::sources::python_source::PythonSource;
use crate::nodes::take::skip_first;
use crate::nodes::zip::Zip;
use crate::plan::pieces::pieces;
use crate::plan::settings::Settings;
use crate::plan::shuffle::shuffled;
use crate::plan::{Mix, Plan};
use headrace_engine::error::Result;
use std::sync::Arc;

impl Plan {
    /// Creates the nodes for pass number `pass`, starting at a checkpoint. They are `distance`
    /// steps away from the consumer. Fails if the checkpoint cannot belong to this plan.
    pub fn start(
        self: &Arc<Self>,
        pass: u64,
        settings: Settings,
        distance: usize,
        from: &Checkpoint,
    ) -> Result<Box<dyn Node>> {
        let settings = match &**self {
            Self::Zip(..) | Self::Meter { .. } | Self::Then(..) => settings,
            _ => settings.unaligned(),
        };
        let settings = match &**self {
            Self::Files(..) | Self::File(..) | Self::Meter { .. } | Self::Then(..) | Self::Pieces(..) => settings,
            _ => settings.unmixed(),
        };
        let node: Box<dyn Node> = match &**self {
            Self::Files(format, files) => {
                let (format, files) = (Arc::clone(format), Arc::clone(files));
                let node = Files::new(format, files, settings.num_threads, settings.position(pass, distance));
                Box::new(node.in_any_order(settings.in_any_order).from_checkpoint(from)?)
            }
            Self::File(format, files, number, piece) => {
                let (format, files) = (Arc::clone(format), Arc::clone(files));
                let position = settings.position(pass, distance);
                let node = Files::one_of(format, files, *number, settings.num_files, position).of_piece(piece.clone());
                Box::new(node.from_checkpoint(from)?)
            }
            Self::Indexed(rows) => {
                let position = settings.position(pass, distance);
                let node = IndexedRows::new(Arc::clone(rows), Order::Natural, settings.ahead(), position);
                let node = node.in_batches(settings.batches, pass);
                Box::new(node.in_any_order(settings.in_any_order).from_checkpoint(from)?)
            }
            // The Python worker skips the rows itself.
            Self::PythonSource(python_worker) => {
                return Ok(Box::new(
                    PythonSource::new(*python_worker, settings.position(pass, distance)).from_checkpoint(from)?,
                ));
            }
            Self::Concat(inputs) => {
                let inputs = Arc::clone(inputs);
                let mut functions = StatefulFunctions::default();
                if settings.is_repeated {
                    inputs.iter().for_each(|input| input.find_stateful_functions(from.states(), &mut functions));
                }
                let functions =
                    StatefulFunctions { num_passes: u64::MAX, synchronous: settings.synchronous, ..functions };
                let next = move |number: u64, from: &Checkpoint, is_replay: bool| {
                    let number = usize::try_from(number).ok()?;
                    let settings = settings.part(number).replaying(is_replay);
                    inputs.get(number).map(|input| input.start(pass, settings, distance + 1, from))
                };
                let passes =
                    Passes::new(Box::new(next), false, distance).with_function_states(functions, from.states());
                Box::new(passes.from_checkpoint(from)?)
            }
            Self::Mix(inputs, mix) => {
                let is_beginning = from.state().is_none() && from.skip() == 0;
                let resumed = if is_beginning { None } else { mix.resumed.lock().take() };
                let resumed = resumed.map(|resumed| resumed.with_states(from.states().cloned()));
                let node = mixed(inputs, mix, pass, settings, distance, resumed.as_ref().unwrap_or(from))?;
                return Ok(skip_first(node, if resumed.is_some() { 0 } else { from.skip() }));
            }
            Self::Zip(inputs, is_strict) => {
                let start = |(index, first): (usize, &Checkpoint)| {
                    inputs[index].start(pass, settings.part_of_zip(index), distance + 1, first)
                };
                let position = settings.position(pass, distance);
                return Zip::from_checkpoint(from, inputs.len(), start, *is_strict, settings.ahead(), position);
            }
            Self::Meter { plan, stage, counts_rows } => {
                let node = plan.start(pass, settings.of_stage(*stage), distance, from)?;
                return Ok(if *counts_rows && !settings.is_uncounted {
                    Box::new(CountRows::new(node, *stage))
                } else {
                    node
                });
            }
            Self::Pieces(input, options) => Box::new(pieces(input, options, pass, settings, distance, from)?),
            Self::Shuffled(input, shuffle) => shuffled(input, shuffle, pass, settings, distance, from.base()),
            Self::Then(input, step) => return step.start(input, pass, settings, distance, from),
        };
        Ok(skip_first(node, from.skip()))
    }
}

/// Creates the node of a mixture, exactly at the state of a checkpoint.
fn mixed(
    inputs: &[Arc<Plan>],
    Mix { weights, stop_when, seed, .. }: &Mix,
    pass: u64,
    settings: Settings,
    distance: usize,
    from: &Checkpoint,
) -> Result<Box<dyn Node>> {
    let ids = weights.ids.as_deref();
    let old = old_inputs(from, inputs.len(), ids)?;
    let start = |(index, input): (usize, &Arc<Plan>)| {
        let first = old[index].map_or_else(|| Ok(from.beginning()), |old| from.input(old))?;
        // The random draws for a part's examples depend on the part's name, if it has one.
        let settings = settings.part_called(index, ids.map_or(index as u64, |ids| ids[index]));
        input.start(pass, settings, distance + 1, &first)
    };
    let nodes = inputs.iter().enumerate().map(start).collect::<Result<_>>()?;
    let mixture = Mixture::new(weights.clone(), *stop_when, (*seed, pass));
    let keeps_states = from.states().is_some_and(|states| states.has_any());
    let interleave =
        Interleave::new(nodes, Box::new(mixture)).synchronous(settings.synchronous).behind_last(keeps_states);
    Ok(Box::new(interleave.from_checkpoint(from)?))
}
