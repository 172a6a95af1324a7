//! Random pipelines, generated from a seed.

use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::files::name::FileName;
use headrace_engine::numbering::Numbering;
use headrace_pipeline::blocks::block::FileProvenance;
use headrace_pipeline::blocks::column::Column;
use headrace_pipeline::blocks::rows::Rows;
use headrace_pipeline::formats::Lines;
use headrace_pipeline::index::IndexFiles;
use headrace_pipeline::nodes::cache::Store;
use headrace_pipeline::nodes::groups::batch::ShareIndex;
use headrace_pipeline::nodes::groups::bucket::Buckets;
use headrace_pipeline::nodes::groups::sizes::Sizes;
use headrace_pipeline::nodes::mixture::StopWhen;
use headrace_pipeline::nodes::shard::Even;
use headrace_pipeline::plan::{Blocks, Mix, PieceOptions, Plan, Shuffle, Step};
use headrace_pipeline::records::Codec;
use headrace_pipeline::stages::Stage;
use headrace_pipeline::stages::collate::{Collate, Unbatch};
use headrace_pipeline::tasks::size_estimate::SizeEstimate;
use shuttle::thread;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Numbers drawn from a seed, by SplitMix64 (Steele, Lea and Flood, 2014).
pub struct Draws(pub u64);

impl Draws {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}

/// A temporary directory for the files of one generated pipeline, removed at its end.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new(seed: u64) -> Self {
        let path = std::env::temp_dir().join(format!("headrace-simulation-{}-{seed}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A generated pipeline: the same for each schedule, but not shared between schedules.
pub struct MadeUp {
    pub plan: Arc<Plan>,
    pub num_python_workers: usize,
    /// True if a part of it stays in memory.
    pub is_kept: bool,
    directory: PathBuf,
    /// A description of the steps.
    pub words: String,
}

impl MadeUp {
    pub fn new(seed: u64, directory: &Directory) -> Self {
        let directory = directory.0.clone();
        let mut draws = Draws(seed);
        let plan = Arc::new(Plan::Concat(Arc::new([])));
        let mut made_up = Self { plan, num_python_workers: 0, is_kept: false, directory, words: String::new() };
        made_up.plan = made_up.source(&mut draws);
        for _ in 0..draws.below(6) {
            made_up.add_step(&mut draws);
        }
        // The rows of whole blocks, as batches leave a pipeline.
        made_up.plan = map(&made_up.plan, vec![]);
        made_up
    }

    fn source(&mut self, draws: &mut Draws) -> Arc<Plan> {
        let (one, other) = (self.lines("a", draws), self.lines("b", draws));
        let parts: Arc<[Arc<Plan>]> = Arc::new([Arc::clone(&one), other]);
        let shuffle = Shuffle::new;
        let (words, plan) = match draws.below(6) {
            0 => ("concat", Plan::Concat(parts)),
            1 => {
                let stop_when = if draws.below(2) == 0 { StopWhen::All } else { StopWhen::First };
                ("mix", Plan::Mix(parts, Mix::new(vec![2.0, 1.0], stop_when, draws.next())))
            }
            2 => ("zip", Plan::Zip(parts, draws.below(2) == 0)),
            3 => ("shuffled", Plan::Shuffled(one, shuffle(draws.next()))),
            _ => return one,
        };
        self.words += words;
        Arc::new(plan)
    }

    /// Files of lines `NAME-FILE-LINE`.
    fn lines(&mut self, name: &str, draws: &mut Draws) -> Arc<Plan> {
        let lengths: Vec<_> = (0..1 + draws.below(5)).map(|_| draws.below(12)).collect();
        write!(self.words, " {name}{lengths:?} ").unwrap();
        let file = |(index, length): (usize, &usize)| {
            let path = self.directory.join(format!("{name}{index}.txt"));
            let text: String = (0..*length).map(|line| format!("{name}-{index}-{line}\n")).collect();
            if !path.exists() {
                std::fs::write(&path, text).unwrap();
            }
            let name = FileName::new(path.to_str().unwrap().to_owned());
            Arc::new(FileProvenance::new(name, Numbering { word: "line", first: 1 }, index as u64))
        };
        let files = lengths.iter().enumerate().map(file).collect();
        Arc::new(Plan::Files(Arc::new(Lines { codec: Codec::Known(Compression::None), skips_blank: false }), files))
    }

    fn add_step(&mut self, draws: &mut Draws) {
        let (words, plan) = match draws.below(15) {
            0 | 1 => ("map".to_owned(), map(&self.plan, vec![Arc::new(Pass)])),
            2 => {
                let line = draws.below(7);
                (format!("fail at {line}"), map(&self.plan, vec![Arc::new(FailAt(format!("-{line}")))]))
            }
            3 | 4 => {
                self.num_python_workers += 1;
                let step = Step::MapPython {
                    python_worker: self.num_python_workers - 1,
                    is_one_to_one: false,
                    num_callers: 1,
                    num_functions: 1,
                    in_processes: draws.below(2) == 0,
                    in_groups: draws.below(2) == 0,
                    size_estimate: SizeEstimate::default(),
                };
                ("function".to_owned(), self.then(step))
            }
            5 => self.step("take", draws.below(30) as u64, Step::Take),
            6 => self.step("skip", draws.below(10) as u64, Step::Skip),
            7 => {
                let count = 1 + draws.below(3) as u64;
                self.step("shard", count, |count| Step::Shard { index: 0, count, even: Even::Uneven, lanes: None })
            }
            8 => {
                let size = 1 + draws.below(9);
                let seed = draws.next();
                self.step("window", size as u64, |_| Step::Window { size, seed })
            }
            9 | 10 => {
                let size = 1 + draws.below(9);
                let (words, options) = pieces(draws);
                self.plan = self.plan.in_pieces(&options);
                let seed = draws.next();
                (format!("window {size} over {words}"), self.then(Step::Window { size, seed }))
            }
            11 => {
                let (size, drops_remainder) = (1 + draws.below(6), draws.below(2) == 0);
                let batch =
                    self.then(Step::Batch { sizes: Sizes::constant(size), drops_remainder, share: ShareIndex::ALL });
                (format!("batch {size}, unbatch"), unbatched(&batch))
            }
            12 => {
                // Lines have five or six letters.
                let (size, boundaries) = (Some(1 + draws.below(4)), vec![5, 6]);
                let (pads_to_boundary, drops_remainder) = (false, draws.below(2) == 0);
                let buckets =
                    Buckets { column: 0, boundaries, size, max_elements: None, pads_to_boundary, drops_remainder };
                ("bucket, unbatch".to_owned(), unbatched(&self.then(Step::Bucket(Arc::new(buckets)))))
            }
            13 => {
                let line = draws.below(7);
                self.plan = map(&self.plan, vec![Arc::new(FailAt(format!("-{line}")))]);
                (format!("fail at {line}, skip errors"), self.then(Step::SkipErrors(0)))
            }
            _ => match draws.below(2) {
                0 => self.step("epochs", 2, |count| Step::Epochs(Some(count))),
                _ => {
                    self.is_kept = true;
                    // Caches keep whole blocks.
                    self.plan = map(&self.plan, vec![]);
                    self.step("cache", 0, |_| Step::Cache(Arc::new(Store::default())))
                }
            },
        };
        self.words += &format!(" > {words}");
        self.plan = plan;
    }

    fn then(&self, step: Step) -> Arc<Plan> {
        Arc::new(Plan::Then(Arc::clone(&self.plan), step))
    }

    fn step(&self, words: &str, number: u64, step: impl FnOnce(u64) -> Step) -> (String, Arc<Plan>) {
        (format!("{words} {number}"), self.then(step(number)))
    }
}

/// An order of pieces, and its description.
fn pieces(draws: &mut Draws) -> (String, PieceOptions) {
    let (seed, num_open) = (draws.one_of(&[None, Some(5), Some(6)]), 1 + draws.below(4));
    let block_bytes = draws.one_of(&[None, Some(9_u64), Some(25)]);
    let blocks = |size| Arc::new(Blocks::new(size, Arc::default(), Arc::new(IndexFiles::none())));
    let options = PieceOptions { seed, num_open, shard: PieceOptions::ALL, blocks: block_bytes.map(blocks) };
    (format!("pieces of {block_bytes:?}, {num_open} open"), options)
}

fn map(input: &Arc<Plan>, stages: Vec<Arc<dyn Stage>>) -> Arc<Plan> {
    Arc::new(Plan::Then(Arc::clone(input), Step::Map(stages.into(), SizeEstimate::default())))
}

/// Groups of rows, each batched and split again.
fn unbatched(groups: &Arc<Plan>) -> Arc<Plan> {
    let collate =
        Collate { names: vec!["text".to_owned()], is_of_batches: false, pad_to: None, padding: None, layouts: vec![] };
    map(&map(groups, vec![Arc::new(collate)]), vec![Arc::new(Unbatch)])
}

/// Returns its rows unchanged, after other threads could run.
struct Pass;

impl Stage for Pass {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        thread::yield_now();
        Ok(rows)
    }
}

/// Fails at rows that end with this text.
struct FailAt(String);

impl Stage for FailAt {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        thread::yield_now();
        match strings(&rows.gather()?.columns[0]).iter().any(|row| row.ends_with(&self.0)) {
            true => Err(Error::data_loss(format!("a row ends with {}", self.0))),
            false => Ok(rows),
        }
    }
}

/// The texts of a column.
pub fn strings(column: &Column) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    match column {
        Column::Text(rows) => rows.rows().map(text).collect(),
        other => other.to_tensor().unwrap().string_values().iter().map(|bytes| text(bytes)).collect(),
    }
}
