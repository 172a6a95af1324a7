//! Record inputs: endless batches of shuffled records from some files, epoch after epoch.
//!
//! A run that requests a batch also reads for it. It takes turns reading several files into a
//! buffer, and draws records from it at random. A seed makes the order repeatable. It follows the
//! rules of `tensorflow/core/kernels/record_yielder.cc` in TensorFlow 1.15. That class reads in its
//! own threads, so its order differs each time.

use crate::reader::{OpenFile, Position, TfRecordFormat};
use bytes::Bytes;
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::files::name::FileName;
use headrace_engine::philox::Philox;
use headrace_engine::run::Run;
use headrace_engine::saved::{self, Chunks, Content, Reading, Restore, SavedChunks};
use headrace_engine::sync::Mutex;
use headrace_engine::sync::fair_lock::{Acquisition, FairLock, HasFairLock};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::shape::Shape;
use headrace_engine::waits::Description;
use std::collections::VecDeque;
use std::sync::Arc;

/// The properties of a record input.
pub struct RecordInputSpec {
    /// The name in messages.
    pub name: String,
    /// The pattern that matched the files, for messages.
    pub pattern: String,
    /// TFRecord files.
    pub files: Vec<Bytes>,
    /// The compression of the files.
    pub compression: Compression,
    /// The number of records in a batch.
    pub batch_size: usize,
    /// The number of records from which one is drawn, except for the last ones of an epoch.
    pub buffer_size: usize,
    /// The number of files to read at the same time.
    pub parallelism: usize,
    /// The fraction of the files by which the order of each epoch is rotated, from 0 to 1.
    pub shift_ratio: f64,
    /// The seed for the order of files and records.
    pub seed: i64,
}

/// A record input, shared by any number of threads. Each call holds its lock until it ends.
pub struct RecordInput {
    spec: RecordInputSpec,
    format: TfRecordFormat,
    lock: FairLock,
    /// Protected by `lock`.
    state: Mutex<State>,
}

struct State {
    /// The number of the epoch, counting from 1. It is 0 before the first one.
    epoch: u64,
    /// The shards, which are read in turn. `turn` is the index of the next one.
    shards: Vec<Shard>,
    turn: usize,
    buffer: Vec<Bytes>,
    /// True once the epoch has returned a record.
    has_given: bool,
    random: Philox,
}

/// Files that are read one after the other.
#[derive(Default)]
struct Shard {
    /// The numbers of the files, starting with the current one.
    files: VecDeque<usize>,
    /// The position of the next record in the current file.
    at: Position,
    /// The current file. It is reopened after an error.
    open: Option<OpenFile>,
}

impl HasFairLock for RecordInput {
    fn fair_lock(&self) -> &FairLock {
        &self.lock
    }
}

impl RecordInput {
    /// Creates a record input that has not read anything. Fails with `InvalidArgument` if a number
    /// is invalid.
    pub fn new(spec: RecordInputSpec) -> Result<Arc<Self>> {
        for (number, what) in [(spec.buffer_size, "file_buffer_size"), (spec.parallelism, "file_parallelism")] {
            if number == 0 {
                let text = format!("RecordInput '{}': {what} is 0, expected 1 or more.", spec.name);
                return Err(Error::invalid_argument(text));
            }
        }
        let format = TfRecordFormat { compression: spec.compression };
        let state = Mutex::new(State::new(spec.seed));
        Ok(Arc::new(Self { spec, format, lock: FairLock::default(), state }))
    }

    /// Starts a call. Poll it for its batch.
    pub fn next(self: &Arc<Self>, run: &Run) -> Call {
        Call { input: Arc::clone(self), acquisition: FairLock::acquire(Arc::clone(self), run.parker()) }
    }

    fn read(&self, state: &mut State) -> Result<Tensor> {
        let mut records = Vec::new();
        while records.len() < self.spec.batch_size {
            match self.draw(state) {
                Ok(record) => records.push(record),
                Err(error) => {
                    // No record is lost: they are returned the next time.
                    state.buffer.append(&mut records);
                    return Err(error);
                }
            }
        }
        Tensor::strings(Shape::new(&[records.len()]), records)
    }

    /// The next record.
    fn draw(&self, state: &mut State) -> Result<Bytes> {
        loop {
            self.fill(state)?;
            if !state.buffer.is_empty() {
                let position = state.random.next_u32() as usize % state.buffer.len();
                state.has_given = true;
                return Ok(state.buffer.swap_remove(position));
            }
            if state.epoch > 0 && !state.has_given {
                let text = format!("RecordInput '{}': there are no records in {}", self.spec.name, self.spec.pattern);
                return Err(Error::out_of_range(text));
            }
            self.begin_epoch(state)?;
        }
    }

    fn begin_epoch(&self, state: &mut State) -> Result<()> {
        if self.spec.files.is_empty() {
            return Err(Error::new(Code::NotFound, format!("Found no files at {}", self.spec.pattern)));
        }
        state.epoch += 1;
        (state.turn, state.has_given) = (0, false);
        state.shards = self.shards(state.epoch);
        Ok(())
    }

    /// Distributes the files of an epoch.
    fn shards(&self, epoch: u64) -> Vec<Shard> {
        let mut order: Vec<usize> = (0..self.spec.files.len()).collect();
        let mut random = Philox::new(self.spec.seed, epoch as i64);
        for position in (1..order.len()).rev() {
            order.swap(position, random.next_u32() as usize % (position + 1));
        }
        if (0.0..1.0).contains(&self.spec.shift_ratio) {
            let shift = self.spec.shift_ratio * order.len() as f64;
            order.rotate_left(shift as usize);
        }
        let num_shards = self.spec.parallelism.min(order.len());
        let files = |shard: usize| order.iter().skip(shard).step_by(num_shards).copied().collect();
        (0..num_shards).map(|shard| Shard { files: files(shard), ..Shard::default() }).collect()
    }

    /// Reads until the buffer is full or the epoch ends.
    fn fill(&self, state: &mut State) -> Result<()> {
        while state.buffer.len() < self.spec.buffer_size && !state.shards.is_empty() {
            let shard = &mut state.shards[state.turn];
            match self.read_one(shard)? {
                Some(record) => {
                    state.buffer.push(record);
                    state.turn += 1;
                }
                None => drop(state.shards.remove(state.turn)),
            }
            if state.turn >= state.shards.len() {
                state.turn = 0;
            }
        }
        Ok(())
    }

    /// Returns the next record of a shard, if there is one.
    fn read_one(&self, shard: &mut Shard) -> Result<Option<Bytes>> {
        while let Some(file) = shard.files.front() {
            let open = match shard.open.as_mut() {
                Some(open) => open,
                None => {
                    let name = FileName::new(self.spec.files[*file].clone());
                    let at = (shard.at != Position::default()).then_some(shard.at);
                    shard.open.insert(OpenFile::open(&self.format, name, at)?)
                }
            };
            match open.read_one() {
                Ok(Some(record)) => {
                    shard.at = open.position();
                    return Ok(Some(record.value));
                }
                Ok(None) => {
                    shard.files.pop_front();
                    (shard.at, shard.open) = (Position::default(), None);
                }
                Err(error) => {
                    shard.open = None;
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// Saves the position and the records in the buffer; see [`headrace_engine::saved`]. Fails
    /// while a call is reading.
    pub fn save(self: &Arc<Self>) -> Result<Chunks> {
        let Some(_acquisition) = FairLock::try_acquire(Arc::clone(self)) else {
            let text = format!(
                "RecordInput '{}' is in use: a run reads from it. Finish the runs of other threads first.",
                self.spec.name
            );
            return Err(Error::failed_precondition(text));
        };
        let state = self.state.lock();
        let mut content = Content::default();
        content.number(self.spec.files.len() as u64);
        self.spec.files.iter().for_each(|file| content.bytes(file));
        content.number(state.epoch);
        content.flag(state.has_given);
        content.number(state.turn as u64);
        content.number(state.shards.len() as u64);
        for shard in &state.shards {
            content.number(shard.files.len() as u64);
            shard.files.iter().for_each(|file| content.number(*file as u64));
            content.number(shard.at.record);
            content.number(shard.at.offset_bytes);
        }
        content.number(state.buffer.len() as u64);
        state.buffer.iter().for_each(|record| content.bytes(record));
        state.random.save(&mut content);
        Ok(saved::one(content))
    }

    /// Continues at the position of a saved record input. Fails with `FailedPrecondition` if that
    /// one had different files.
    pub fn prepare(self: &Arc<Self>, chunks: SavedChunks) -> Result<Restore> {
        let chunk = saved::only(chunks)?;
        let mut reading = Reading::new(&chunk);
        let num_files = reading.size()?;
        let files = (0..num_files).map(|_| reading.bytes()).collect::<Result<Vec<_>>>()?;
        if !files.iter().eq(&self.spec.files) {
            return Err(Error::failed_precondition(format!(
                "RecordInput '{}' was saved with {num_files} files, but now has {} different or reordered ones, \
                 matching {}. Restore it with the same files.",
                self.spec.name,
                self.spec.files.len(),
                self.spec.pattern
            )));
        }
        let (epoch, has_given, turn) = (reading.number()?, reading.flag()?, reading.size()?);
        let mut shards = Vec::new();
        for _ in 0..reading.size()? {
            let num_left = reading.size()?;
            let number =
                |_| reading.size().and_then(|file| if file < num_files { Ok(file) } else { Err(saved::damaged()) });
            let files = (0..num_left).map(number).collect::<Result<_>>()?;
            let at = Position { record: reading.number()?, offset_bytes: reading.number()? };
            shards.push(Shard { files, at, open: None });
        }
        let num_buffered = reading.size()?;
        let buffer = (0..num_buffered).map(|_| reading.bytes().map(Bytes::copy_from_slice)).collect::<Result<_>>()?;
        let random = Philox::restored(&mut reading)?;
        reading.end()?;
        if turn > 0 && turn >= shards.len() {
            return Err(saved::damaged());
        }
        let input = Arc::clone(self);
        let state = State { epoch, shards, turn, buffer, has_given, random };
        Ok(Box::new(move || *input.state.lock() = state))
    }
}

impl State {
    fn new(seed: i64) -> Self {
        // Epochs use the streams from 1 on.
        let random = Philox::new(seed, 0);
        Self { epoch: 0, shards: Vec::new(), turn: 0, buffer: Vec::new(), has_given: false, random }
    }
}

/// A call in progress. Dropping it cancels it.
pub struct Call {
    input: Arc<RecordInput>,
    acquisition: Acquisition<Arc<RecordInput>>,
}

impl Call {
    /// Reads the batch, a vector of strings. Returns `None` while another call is reading.
    pub fn poll(&mut self, run: &Run) -> Result<Option<Tensor>> {
        if !self.acquisition.poll() {
            return Ok(None);
        }
        let mut state = self.input.state.lock();
        run.while_current(|| self.input.read(&mut state)).map(Some)
    }

    /// Describes the call's wait.
    pub fn description(&self) -> Description {
        let input = Arc::clone(&self.input);
        Arc::new(move || format!("RecordInput '{}', which another call reads from", input.spec.name))
    }
}
