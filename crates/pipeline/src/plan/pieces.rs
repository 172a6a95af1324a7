//! Plans the pieces of sources, so that a windowed shuffle reads files in a new order in each
//! pass.

use crate::blocks::block::FileProvenance;
use crate::checkpoint::Checkpoint;
use crate::function_states::FunctionStates;
use crate::index::{FilePiece, FilePieces, IndexFiles, KeptBorders};
use crate::nodes::epochs::StatefulFunctions;
use crate::nodes::pieces::{NumUpcoming, PieceOrder, Pieces};
use crate::nodes::sources::files::{are_remote, largest_bytes, num_remote_files};
use crate::permutation::Permutation;
use crate::plan::settings::Settings;
use crate::plan::{Plan, Step};
use crate::records::Format;
use headrace_engine::error::{Error, Result};
use headrace_engine::philox::mix;
use headrace_engine::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Separates the random order of pieces from the window's draws, which use the same seed.
const ORDER_OF_PIECES: u64 = 0x7069_6563_6573;

/// How many bytes, and how many pieces, to read ahead if pieces are small.
const AHEAD_BYTES: u64 = 256 << 10;
const MOST_AHEAD: usize = 32;

/// How pieces are ordered and read.
#[derive(Clone)]
pub struct PieceOptions {
    /// The seed of the order, or `None` to keep the order of the source.
    pub seed: Option<u64>,
    /// The maximum number of pieces to read at the same time, at least 1.
    pub num_open: usize,
    /// Which pieces of the order to read: every `.1`-th, at least 1, starting with number `.0`.
    pub shard: (u64, u64),
    /// The pieces of files, or `None` if each file is a single piece.
    pub blocks: Option<Arc<Blocks>>,
}

/// How files are split into pieces, which are runs of whole records.
pub struct Blocks {
    block_bytes: u64,
    /// The boundaries, kept for later iterations.
    kept: Arc<KeptBorders>,
    /// Index files with the boundaries, for formats that need an index.
    index_files: Arc<IndexFiles>,
    /// The pieces of each source's files, by source number. They are determined once per iteration.
    sources: Mutex<HashMap<u64, Arc<FilePieces>>>,
}

impl Blocks {
    /// Creates pieces of about `block_bytes`.
    pub fn new(block_bytes: u64, kept: Arc<KeptBorders>, index_files: Arc<IndexFiles>) -> Self {
        Self { block_bytes, kept, index_files, sources: Mutex::default() }
    }

    /// Returns the pieces of the files of source `source`.
    fn of(&self, source: u64, format: &Arc<dyn Format>, files: &[Arc<FileProvenance>]) -> Result<Arc<FilePieces>> {
        let mut sources = self.sources.lock();
        if let Some(pieces) = sources.get(&source) {
            return Ok(Arc::clone(pieces));
        }
        let pieces = Arc::new(self.kept.of(source, format, files, self.block_bytes, &self.index_files)?);
        sources.insert(source, Arc::clone(&pieces));
        Ok(pieces)
    }
}

impl PieceOptions {
    /// All pieces.
    pub const ALL: (u64, u64) = (0, 1);
}

/// The format and the files of a source.
type Source = (Arc<dyn Format>, Arc<[Arc<FileProvenance>]>);

/// A part of a source: some files, or rows that are not divided into pieces.
struct Part {
    plan: Arc<Plan>,
    /// The numbers of the `concat` parts that lead to it.
    path: Vec<usize>,
    num_pieces: u64,
    /// The pieces of its files, if files have several.
    pieces: Option<Arc<FilePieces>>,
    /// True if functions keep states for its rows.
    keeps_states: bool,
}

impl Plan {
    /// Returns the same plan with the pieces of its sources in a different order. If a step such as
    /// `take` depends on the order, the sources before it keep their order.
    pub fn in_pieces(self: &Arc<Self>, options: &PieceOptions) -> Arc<Self> {
        if !self.has_pieces() {
            return Arc::clone(self);
        }
        Arc::new(match &**self {
            Self::Meter { plan, stage, counts_rows } => {
                Self::Meter { plan: plan.in_pieces(options), stage: *stage, counts_rows: *counts_rows }
            }
            Self::Then(input, step) => Self::Then(input.in_pieces(options), step.clone()),
            Self::Mix(inputs, mix) => {
                Self::Mix(inputs.iter().map(|input| input.in_pieces(options)).collect(), mix.clone())
            }
            _ => Self::Pieces(Arc::clone(self), options.clone()),
        })
    }

    /// Returns true if there are files whose order may be changed.
    pub fn has_pieces(&self) -> bool {
        match self {
            Self::Files(..) => true,
            Self::Meter { plan, .. } => plan.has_pieces(),
            Self::Then(input, step) => step.facts().keeps_pieces && input.has_pieces(),
            Self::Concat(inputs) | Self::Mix(inputs, _) => inputs.iter().any(|input| input.has_pieces()),
            _ => false,
        }
    }

    /// The maximum number of blocks that return rows in turn.
    pub(super) fn num_open(&self) -> usize {
        match self {
            Self::Meter { plan, .. } => plan.num_open(),
            Self::Pieces(_, options) => options.num_open,
            Self::Mix(inputs, _) => {
                inputs.iter().fold(0, |count: usize, input| count.saturating_add(input.num_open())).max(1)
            }
            _ => 1,
        }
    }

    /// Returns a plan for file `index` alone, or for a piece of it.
    fn piece(self: &Arc<Self>, index: usize, piece: Option<&FilePiece>) -> Arc<Self> {
        Arc::new(match &**self {
            Self::Files(format, files) => Self::File(Arc::clone(format), Arc::clone(files), index, piece.cloned()),
            Self::Meter { plan, stage, counts_rows } => {
                Self::Meter { plan: plan.piece(index, piece), stage: *stage, counts_rows: *counts_rows }
            }
            Self::Then(input, step) if step.facts().is_row_wise => Self::Then(input.piece(index, piece), step.clone()),
            _ => return Arc::clone(self),
        })
    }

    /// Collects the parts of a source. A part with a stateful function is a single piece, because
    /// its calls must stay in order.
    fn add_parts(
        self: &Arc<Self>,
        path: &[usize],
        options: &PieceOptions,
        settings: Settings,
        states: Option<&Arc<FunctionStates>>,
        parts: &mut Vec<Part>,
    ) -> Result<()> {
        let first = parts.len();
        match &**self {
            Self::Files(format, files) => {
                let pieces = match options.blocks.as_ref().filter(|_| !format.has_parts()) {
                    Some(blocks) => {
                        let source = path.iter().fold(settings, |settings, index| settings.part(*index)).branch;
                        Some(blocks.of(source, format, files)?)
                    }
                    None => None,
                };
                let num_pieces = pieces.as_ref().map_or(files.len() as u64, |pieces| pieces.len());
                parts.push(Part {
                    plan: Arc::clone(self),
                    path: path.to_vec(),
                    num_pieces,
                    pieces,
                    keeps_states: false,
                });
            }
            Self::Concat(inputs) => {
                for (index, input) in inputs.iter().enumerate() {
                    input.add_parts(&[path, &[index]].concat(), options, settings, states, parts)?;
                }
            }
            Self::Meter { plan, stage, counts_rows } => {
                plan.add_parts(path, options, settings, states, parts)?;
                for part in &mut parts[first..] {
                    let plan = Arc::clone(&part.plan);
                    part.plan = Arc::new(Self::Meter { plan, stage: *stage, counts_rows: *counts_rows });
                }
            }
            Self::Then(input, step) if step.is_of_rows(states) => {
                input.add_parts(path, options, settings, states, parts)?;
                for part in &mut parts[first..] {
                    part.plan = Arc::new(Self::Then(Arc::clone(&part.plan), step.clone()));
                }
            }
            _ => {
                // It is a single piece, which one shard reads completely.
                let plan = self.in_pieces(&PieceOptions { shard: PieceOptions::ALL, ..options.clone() });
                let mut functions = StatefulFunctions::default();
                plan.find_stateful_functions(states, &mut functions);
                let keeps_states = !functions.python_workers.is_empty();
                parts.push(Part { plan, path: path.to_vec(), num_pieces: 1, pieces: None, keeps_states });
            }
        }
        Ok(())
    }

    /// The files of a source, or `None` if it has no files.
    fn files(&self) -> Option<Source> {
        match self {
            Self::Files(format, files) => Some((Arc::clone(format), Arc::clone(files))),
            Self::Meter { plan, .. } | Self::Then(plan, _) => plan.files(),
            _ => None,
        }
    }
}

impl Step {
    /// Returns true if it processes each row separately and keeps no state.
    fn is_of_rows(&self, states: Option<&Arc<FunctionStates>>) -> bool {
        let facts = self.facts();
        let keeps_state = facts.python_worker.is_some_and(|worker| states.is_some_and(|states| states.is_kept(worker)));
        facts.is_row_wise && !keeps_state
    }
}

/// The number of pieces to read ahead with this much memory. If pieces of `block_bytes` are small,
/// more are read ahead, up to the length of a block of rows in total.
fn num_upcoming(parts: &[Part], num_threads: usize, block_bytes: Option<u64>) -> NumUpcoming {
    let sources: Vec<Source> = parts.iter().filter_map(|part| part.plan.files()).collect();
    let fixed = if sources.is_empty() { usize::from(!parts.is_empty()) } else { num_threads };
    let small = AHEAD_BYTES / block_bytes.map_or(u64::MAX, |num_bytes| num_bytes.max(1));
    let fixed = usize::try_from(small).map_or(MOST_AHEAD, |small| small.min(MOST_AHEAD)).max(fixed);
    let remote: Vec<Source> = sources.into_iter().filter(|(_, files)| are_remote(files)).collect();
    Box::new(move |limit_bytes| {
        let of_source = |(format, files): &Source| {
            let most_bytes = block_bytes.unwrap_or_else(|| largest_bytes(files));
            num_remote_files(&**format, most_bytes, limit_bytes)
        };
        remote.iter().map(of_source).fold(fixed, usize::max)
    })
}

/// Creates the nodes for pass number `pass` over the pieces of `input`, starting at a checkpoint.
pub(super) fn pieces(
    input: &Arc<Plan>,
    options: &PieceOptions,
    pass: u64,
    settings: Settings,
    distance: usize,
    from: &Checkpoint,
) -> Result<Pieces> {
    let mut parts = Vec::new();
    input.add_parts(&[], options, settings, from.states(), &mut parts)?;
    let ends: Vec<u64> = parts
        .iter()
        .scan(0, |end, part| {
            *end = u64::saturating_add(*end, part.num_pieces);
            Some(*end)
        })
        .collect();
    let keeps_states: Vec<u64> =
        parts.iter().zip(&ends).filter(|(part, _)| part.keeps_states).map(|(_, end)| end - 1).collect();
    let keeps_states = move |number: u64| keeps_states.contains(&number);
    let num_pieces = ends.last().copied().unwrap_or(0);
    let block_bytes = options.blocks.as_ref().map(|blocks| blocks.block_bytes);
    let num_upcoming = num_upcoming(&parts, settings.num_threads, block_bytes);
    let order = match options.seed {
        None => PieceOrder::Natural(num_pieces),
        Some(seed) => {
            // Like the draws of windows, the order is the same in each part of `mix` and `zip`:
            // equal seeds keep pairs together. Keep the seed in the range of user seeds.
            let seed = mix(seed, ORDER_OF_PIECES) >> 1;
            PieceOrder::Permuted(Permutation::new(num_pieces, seed, pass))
        }
    };
    let order = match options.shard {
        PieceOptions::ALL => order,
        (_, count) if count > num_pieces => {
            return Err(Error::invalid_argument(format!(
                "shard: by='piece' needs at least one piece per rank, got {num_pieces} pieces for {count} ranks. \
                 Write more files, set smaller block_bytes in the window, or omit by"
            )));
        }
        (index, count) => PieceOrder::Shard(Box::new(order), index, count.max(1)),
    };
    let num_open = usize::try_from(num_pieces).map_or(options.num_open, |most| options.num_open.min(most));
    let shared = settings.among_files(num_open.saturating_add(num_upcoming(0)));
    let start = move |number: u64, from: &Checkpoint| {
        let index = ends.partition_point(|end| *end <= number);
        let part = parts.get(index).ok_or_else(|| Error::internal(format!("piece {number} does not exist")))?;
        let first = ends[index] - part.num_pieces;
        let settings = part.path.iter().fold(shared, |settings, index| settings.part(*index));
        let number = number - first;
        let plan = match &part.pieces {
            None => part.plan.piece(number as usize, None),
            Some(pieces) => {
                let (file, piece) =
                    pieces.get(number).ok_or_else(|| Error::internal(format!("piece {number} does not exist")))?;
                part.plan.piece(file, Some(&piece))
            }
        };
        plan.start(pass, settings, distance + 1, from)
    };
    let held = options.blocks.as_ref().map(|blocks| Arc::clone(&blocks.kept));
    let pieces =
        Pieces::new(Box::new(start), Box::new(keeps_states), order, options.num_open, num_upcoming, &from.base())?;
    Ok(pieces.with_borders(held).synchronous(settings.synchronous()))
}
