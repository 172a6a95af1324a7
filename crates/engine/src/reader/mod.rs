//! Readers: from a queue of file names to records, one file at a time.
//!
//! Source of the rules: `tensorflow/core/framework/reader_base.cc` of TensorFlow 1.15, as documented for
//! `tf.ReaderBase`.

mod format;
mod tfrecord;
mod turn;

pub use format::{Format, Record, RecordFile, open_file};
pub use tfrecord::TfRecordFormat;

use crate::dtype::DType;
use crate::error::{Code, Error, Result};
use crate::queue::{Elements, Progress, Queue, Waiting};
use crate::run::{Origin, Run};
use crate::sync::Mutex;
use crate::tensor::Tensor;
use std::sync::Arc;
use turn::{Turn, Turns};

/// Reads the records of the files whose names come out of a queue.
///
/// A call has the reader to itself from its start to its end, the wait for a file name included: calls of several
/// threads take turns in order of arrival.
pub struct Reader {
    name: String,
    format: Box<dyn Format>,
    turns: Turns,
    /// Locked by the call whose turn it is.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    file: Option<OpenFile>,
    num_started: i64,
    num_finished: i64,
    num_records: i64,
}

/// The file being read.
struct OpenFile {
    path: Arc<str>,
    records: Box<dyn RecordFile>,
    /// Number of the next record.
    next_record: u64,
}

/// What is asked of a reader.
pub enum Request {
    /// Up to `limit` records of one file.
    Read {
        queue: Arc<Queue>,
        limit: usize,
    },
    NumRecordsProduced,
    NumWorkUnitsCompleted,
    Reset,
}

/// What a reader answers.
pub enum Answer {
    Records(Vec<Record>),
    Count(i64),
    Nothing,
}

impl AsRef<Turns> for Arc<Reader> {
    fn as_ref(&self) -> &Turns {
        &self.turns
    }
}

impl Reader {
    pub fn new(name: impl Into<String>, format: Box<dyn Format>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), format, turns: Turns::default(), state: Mutex::default() })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Starts a call; poll it for its answer.
    pub fn call(self: &Arc<Self>, request: Request, run: &Run) -> Call {
        let turn = Turns::enter(Arc::clone(self), run.parker());
        Call { reader: Arc::clone(self), request, turn, waiting: None }
    }
}

/// A call to a reader under way. Dropping it ends it.
pub struct Call {
    reader: Arc<Reader>,
    request: Request,
    turn: Turn<Arc<Reader>>,
    /// The dequeue of a file name, while it waits.
    waiting: Option<Waiting>,
}

impl Call {
    /// Goes on with the call; `None` while it has to wait for its turn or for a file name.
    pub fn poll(&mut self, run: &Run) -> Result<Option<Answer>> {
        if !self.turn.has_come() {
            return Ok(None);
        }
        let reader = Arc::clone(&self.reader);
        let mut state = reader.state.lock();
        match &self.request {
            Request::NumRecordsProduced => Ok(Some(Answer::Count(state.num_records))),
            Request::NumWorkUnitsCompleted => Ok(Some(Answer::Count(state.num_finished))),
            Request::Reset => {
                *state = State::default();
                Ok(Some(Answer::Nothing))
            }
            Request::Read { limit: 0, .. } => Ok(Some(Answer::Records(Vec::new()))),
            Request::Read { queue, limit } => {
                let (queue, limit) = (Arc::clone(queue), *limit);
                loop {
                    if let Some(records) = state.read(limit, run)? {
                        return Ok(Some(Answer::Records(records)));
                    }
                    match self.next_path(&queue, run)? {
                        Some(path) => state.open(&path, reader.format.as_ref())?,
                        None => return Ok(None),
                    }
                }
            }
        }
    }

    /// Gives up the call, in the words of a dequeue: that is what a read waits for.
    pub fn cancel(&mut self) -> Error {
        match &mut self.waiting {
            Some(waiting) => waiting.cancel(),
            None => Error::cancelled("Read operation was cancelled while it waited for its turn"),
        }
    }

    /// The next file name of the queue, or `None` while there is none.
    fn next_path(&mut self, queue: &Arc<Queue>, run: &Run) -> Result<Option<Arc<str>>> {
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
        file_name(&elements).map(Some)
    }
}

impl State {
    /// Reads from the current file; `None` if there is none or it has ended.
    fn read(&mut self, limit: usize, run: &Run) -> Result<Option<Vec<Record>>> {
        let Some(file) = self.file.as_mut() else { return Ok(None) };
        let mut records = Vec::new();
        while records.len() < limit {
            match file.records.next(file.next_record)? {
                Some(record) => {
                    let path = Arc::clone(&file.path);
                    run.set_origin(Origin { file: path, record: file.next_record, offset_bytes: record.offset_bytes });
                    records.push(record);
                    file.next_record += 1;
                    self.num_records += 1;
                }
                None => {
                    self.file = None;
                    self.num_finished += 1;
                    break;
                }
            }
        }
        Ok(Some(records).filter(|records| !records.is_empty()))
    }

    fn open(&mut self, path: &Arc<str>, format: &dyn Format) -> Result<()> {
        let records = format.open(path).map_err(|error| error.with_remedy(open_remedy(&error)))?;
        self.num_started += 1;
        self.file = Some(OpenFile { path: Arc::clone(path), records, next_record: 0 });
        Ok(())
    }
}

/// What the user can do about a file that cannot be opened.
fn open_remedy(error: &Error) -> &'static str {
    match error.code() {
        Code::NotFound => "Check the file names given to the producer and the directory the program runs in.",
        Code::PermissionDenied => "Give the user who runs the program the right to read it.",
        Code::FailedPrecondition => "Name the files in it, a pattern such as 'DIRECTORY/*' for example.",
        _ => "Check that the file can be read.",
    }
}

/// Whether the elements of `queue` can be file names.
pub fn check_names(queue: &Queue) -> Result<()> {
    match queue.spec().dtypes.as_slice() {
        [DType::String] => Ok(()),
        [_] => Err(Error::invalid_argument("Expected queue with single string component")),
        _ => Err(Error::invalid_argument("Expected single component queue")),
    }
}

fn file_name(elements: &Elements) -> Result<Arc<str>> {
    let one_string = || Error::invalid_argument("Expected to dequeue a one-element string tensor");
    let tensor: &Tensor = elements.first().and_then(|element| element.first()).ok_or_else(one_string)?;
    let [name] = tensor.string_values() else { return Err(one_string()) };
    match std::str::from_utf8(name) {
        Ok(name) => Ok(name.into()),
        Err(_) => Err(Error::invalid_argument(format!("file name {name:?} is not UTF-8"))),
    }
}
