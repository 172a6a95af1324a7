//! Readers: from a queue of file names to records, one file at a time.
//!
//! Readers follow the rules of `tensorflow/core/framework/reader_base.cc` in TensorFlow 1.15, as
//! documented for `tf.ReaderBase`.

mod block;
mod fixed_length;
mod format;
mod identity;
#[cfg(test)]
mod interrupted;
mod keys;
mod open_file;
mod saved;
mod state;
mod text_line;
mod tfrecord;
mod whole_file;

pub use fixed_length::FixedLengthFormat;
pub use format::{Format, Position, Record, RecordFile};
pub use identity::IdentityFormat;
pub use open_file::OpenFile;
pub use text_line::TextLineFormat;
pub use tfrecord::TfRecordFormat;
pub use whole_file::WholeFileFormat;

use crate::queue::{Progress, Queue, Waiting};
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::name::FileName;
use headrace_engine::run::{RecordProvenance, Run};
use headrace_engine::sync::Mutex;
use headrace_engine::sync::fair_lock::{Acquisition, FairLock, HasFairLock};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::waits::Description;
use smallvec::SmallVec;
use state::{SavedState, escape};
use std::sync::Arc;

/// Reads the records of the files whose names are dequeued from a queue.
///
/// A call holds the reader's lock from its start to its end, also while it waits for a file name.
/// The order in which calls of several threads get the lock is not specified.
///
/// ```
/// use headrace_engine::kernel::Tensors;
/// use headrace_tf1::queue::{Order, Queue, QueueSpec};
/// use headrace_tf1::reader::{Answer, Reader, Request, TextLineFormat};
/// use headrace_engine::run::Run;
/// use headrace_engine::sync::cancellation::Cancellation;
/// use headrace_engine::tensor::Tensor;
/// use headrace_engine::tensor::dtype::DType;
///
/// let path = std::env::temp_dir().join(format!("example-{}.txt", std::process::id()));
/// std::fs::write(&path, "first\nsecond\n").expect("the directory can be written to");
/// let names = Queue::new(QueueSpec {
///     name: "names".into(),
///     order: Order::Fifo,
///     capacity: None,
///     dtypes: vec![DType::String],
///     shapes: None,
/// })?;
/// let cancellation = Cancellation::new();
/// let run = Run::new(&cancellation);
/// names.enqueue(Tensors::from_iter([Tensor::string(path.to_str().expect("text").to_owned())]), run.parker())?;
///
/// let reader = Reader::new("lines", Box::new(TextLineFormat::new(0)?));
/// let request = Request::Read { queue: names, limit: 1, wants_keys: true };
/// let Some(Answer::Records(records)) = reader.call(request, &run).poll(&run)? else { panic!("a file is there") };
/// assert_eq!(records.values[0], "first");
/// assert!(records.keys[0].ends_with(b".txt:1"));
/// # std::fs::remove_file(path).expect("the file is there");
/// # headrace_engine::error::Result::Ok(())
/// ```
pub struct Reader {
    name: String,
    format: Box<dyn Format>,
    lock: FairLock,
    /// Protected by `lock`.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    file: Option<OpenFile>,
    /// The most recently dequeued file name.
    work: Bytes,
    num_started: i64,
    num_finished: i64,
    num_records: i64,
}

/// The records returned by a read.
#[derive(Default)]
pub struct Records {
    /// The bytes of each record.
    pub values: SmallVec<[Bytes; 1]>,
    /// One key per record, or empty if keys are not requested.
    pub keys: SmallVec<[Bytes; 1]>,
    offsets_bytes: SmallVec<[u64; 1]>,
}

/// A request to a reader.
pub enum Request {
    /// Up to `limit` records from one file.
    Read {
        /// The queue of file names.
        queue: Arc<Queue>,
        /// The maximum number of records.
        limit: usize,
        /// True if keys are requested.
        wants_keys: bool,
    },
    /// The number of records read since the reader was last reset.
    NumRecordsProduced,
    /// The number of files read to their end.
    NumWorkUnitsCompleted,
    /// The state as bytes.
    SerializeState,
    /// Continues at the position of the reader that saved this state.
    RestoreState(Bytes),
    /// Discards everything and starts with the next file name.
    Reset,
}

/// The answer to a request.
pub enum Answer {
    /// The records of a read. There are none if the limit was 0.
    Records(Records),
    /// A number.
    Count(i64),
    /// The state as bytes.
    State(Bytes),
    /// The request is done and has no result.
    Nothing,
}

impl HasFairLock for Reader {
    fn fair_lock(&self) -> &FairLock {
        &self.lock
    }
}

impl Reader {
    /// Creates a reader that has not read anything.
    pub fn new(name: impl Into<String>, format: Box<dyn Format>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), format, lock: FairLock::default(), state: Mutex::default() })
    }

    /// Starts a call. Poll it for its answer.
    pub fn call(self: &Arc<Self>, request: Request, run: &Run) -> Call {
        let acquisition = FairLock::acquire(Arc::clone(self), run.parker());
        Call { reader: Arc::clone(self), request, acquisition, waiting: None }
    }

    /// Returns the next record and its key, if it can be read without waiting. No [`Call`] is
    /// needed then.
    ///
    /// The key is empty unless `wants_key`. Returns `None` if another call holds the reader or the
    /// current file has no more records.
    pub fn read_at_once(self: &Arc<Self>, wants_key: bool, run: &Run) -> Result<Option<(Bytes, Bytes)>> {
        let Some(_acquisition) = FairLock::try_acquire(self) else { return Ok(None) };
        self.state.lock().read_one(wants_key, run)
    }

    /// Decodes a state and opens its file at the same position.
    fn restored(&self, bytes: &[u8]) -> Result<State> {
        let who = format!("{} '{}'", self.format.class(), self.name);
        let saved = SavedState::decode(bytes)
            .ok_or_else(|| Error::invalid_argument(format!("Could not parse state for {who}: {}", escape(bytes))))?;
        if let Some(text) = saved.contradiction() {
            return Err(Error::invalid_argument(format!("{text} {who}: {}", saved.describe())));
        }
        let open = |position| OpenFile::open(&*self.format, FileName::new(saved.work.clone()), Some(position));
        let file = saved.position.map(open).transpose()?;
        let SavedState { num_started, num_finished, num_records, work, .. } = saved;
        Ok(State { file, work, num_started, num_finished, num_records })
    }
}

/// A reader's call in progress. Dropping it cancels it.
pub struct Call {
    reader: Arc<Reader>,
    request: Request,
    acquisition: Acquisition<Arc<Reader>>,
    /// The dequeue of a file name, while it is waiting.
    waiting: Option<Waiting>,
}

impl Call {
    /// Continues the call. Returns `None` while it has to wait for the reader or for a file name.
    pub fn poll(&mut self, run: &Run) -> Result<Option<Answer>> {
        if !self.acquisition.poll() {
            return Ok(None);
        }
        let reader = Arc::clone(&self.reader);
        let mut state = reader.state.lock();
        Ok(Some(match &self.request {
            Request::NumRecordsProduced => Answer::Count(state.num_records),
            Request::NumWorkUnitsCompleted => Answer::Count(state.num_finished),
            Request::SerializeState => Answer::State(state.saved().encode()),
            Request::RestoreState(bytes) => {
                // A restore that fails resets the reader.
                *state = State::default();
                *state = run.while_current(|| reader.restored(bytes))?;
                Answer::Nothing
            }
            Request::Reset => {
                *state = State::default();
                Answer::Nothing
            }
            Request::Read { limit: 0, .. } => Answer::Records(Records::default()),
            Request::Read { queue, limit, wants_keys } => {
                let (queue, limit, wants_keys) = (Arc::clone(queue), *limit, *wants_keys);
                loop {
                    let records = state.read(limit, wants_keys, run)?;
                    if !records.values.is_empty() {
                        break Answer::Records(records);
                    }
                    match self.next_work(&queue, run) {
                        Ok(Some(work)) => run.while_current(|| state.start(work, &*reader.format))?,
                        Ok(None) => return Ok(None),
                        Err(error) => {
                            state.work = Bytes::new();
                            return Err(error);
                        }
                    }
                }
            }
        }))
    }

    /// Describes the call's wait for a file name, or for other calls of the reader.
    pub fn description(&self) -> Description {
        match &self.waiting {
            Some(waiting) => {
                let names = waiting.description();
                Arc::new(move || format!("a file name: {}", names()))
            }
            None => {
                let reader = Arc::clone(&self.reader);
                Arc::new(move || format!("{} '{}', which another call reads from", reader.format.class(), reader.name))
            }
        }
    }

    /// Cancels the call. If it was waiting for a dequeue, returns the dequeue's error.
    pub fn cancel(&mut self) -> Error {
        match &mut self.waiting {
            Some(waiting) => waiting.cancel(),
            None => Error::cancelled("Read operation was cancelled while it waited for other calls"),
        }
    }

    /// Returns the next file name from the queue, or `None` while there is none.
    fn next_work(&mut self, queue: &Arc<Queue>, run: &Run) -> Result<Option<Bytes>> {
        let elements = match self.waiting.as_mut() {
            Some(waiting) => waiting.poll().transpose()?,
            None => match queue.dequeue(1, false, run.parker())? {
                Progress::Done(elements) => Some(elements),
                Progress::Waiting(waiting) => {
                    self.waiting = Some(waiting);
                    None
                }
            },
        };
        let Some(elements) = elements else { return Ok(None) };
        self.waiting = None;
        work_item(&queue.one(elements)?).map(Some)
    }
}

impl State {
    /// Reads from the current file. Returns no records if there is none or it has ended.
    fn read(&mut self, limit: usize, wants_keys: bool, run: &Run) -> Result<Records> {
        let mut records = Records::default();
        let Some(file) = self.file.as_mut() else { return Ok(records) };
        let is_over = match file.may_wait() {
            false => file.read(limit, wants_keys, &mut records)?,
            true => run.while_current(|| file.read(limit, wants_keys, &mut records))?,
        };
        let num_records = records.values.len() as u64;
        if num_records > 0 {
            let record = file.position().record - num_records;
            let offsets_bytes = std::mem::take(&mut records.offsets_bytes);
            let (file, numbering) = (Arc::clone(file.name().text()), file.numbering());
            run.set_provenance(RecordProvenance { file, numbering, record, offsets_bytes });
        }
        self.num_records += num_records as i64;
        if is_over {
            self.end_file();
        }
        Ok(records)
    }

    /// Returns the key and the value of the current file's next record, or `None` if there is no
    /// file or it has ended.
    fn read_one(&mut self, wants_key: bool, run: &Run) -> Result<Option<(Bytes, Bytes)>> {
        let Some(file) = self.file.as_mut() else { return Ok(None) };
        let record = if file.may_wait() { run.while_current(|| file.read_one())? } else { file.read_one()? };
        let Some(record) = record else {
            self.end_file();
            return Ok(None);
        };
        let key = if wants_key { file.key(&record) } else { Bytes::new() };
        let number = file.position().record - 1;
        run.set_record_provenance(file.name().text(), file.numbering(), number, record.offset_bytes);
        self.num_records += 1;
        if file.is_over() {
            self.end_file();
        }
        Ok(Some((key, record.value)))
    }

    fn end_file(&mut self) {
        self.file = None;
        self.num_finished = self.num_started;
    }

    /// Opens the next file.
    fn start(&mut self, work: Bytes, format: &dyn Format) -> Result<()> {
        self.work = work.clone();
        self.file = Some(OpenFile::open(format, FileName::new(work), None)?);
        self.num_started += 1;
        Ok(())
    }

    fn saved(&self) -> SavedState {
        SavedState {
            num_started: self.num_started,
            num_finished: self.num_finished,
            num_records: self.num_records,
            work: self.work.clone(),
            position: self.file.as_ref().map(OpenFile::position),
        }
    }
}

/// Checks that the elements of `queue` can be file names.
pub fn check_names(queue: &Queue) -> Result<()> {
    match queue.spec().dtypes.as_slice() {
        [DType::String] => Ok(()),
        [_] => Err(Error::invalid_argument("Expected queue with single string component")),
        _ => Err(Error::invalid_argument("Expected single component queue")),
    }
}

fn work_item(components: &[Tensor]) -> Result<Bytes> {
    let item = components.first().map(Tensor::string_values);
    match item {
        Some([item]) => Ok(item.clone()),
        _ => Err(Error::invalid_argument("Expected to dequeue a one-element string tensor")),
    }
}
