//! One error type for the whole engine, with the codes of TensorFlow's `tensorflow::error::Code`.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The kind of failure; the numbers are TensorFlow's and choose the Python class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// The call was cancelled, or the queue is closed for it.
    Cancelled = 1,
    /// None of the other codes fits.
    Unknown = 2,
    /// An argument, or the data, is invalid.
    InvalidArgument = 3,
    /// The time for the call is over.
    DeadlineExceeded = 4,
    /// A file does not exist.
    NotFound = 5,
    /// The thing to be created already exists.
    AlreadyExists = 6,
    /// The system does not permit the operation.
    PermissionDenied = 7,
    /// Memory, disk space or a quota is used up.
    ResourceExhausted = 8,
    /// Something has to be done first, such as initializing a variable.
    FailedPrecondition = 9,
    /// Another operation interfered.
    Aborted = 10,
    /// The input has ended.
    OutOfRange = 11,
    /// The operation is not supported.
    Unimplemented = 12,
    /// A bug in the engine or in its caller.
    Internal = 13,
    /// A service is unavailable; trying again may help.
    Unavailable = 14,
    /// A file is damaged or cut short.
    DataLoss = 15,
    /// The caller has not authenticated.
    Unauthenticated = 16,
}

/// ENFILE and EMFILE, on Linux and macOS.
const TOO_MANY_FILES: [i32; 2] = [23, 24];

/// Tells whether a wait that was ended can be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// No data is lost; the same wait can begin again.
    Repeatable,
    /// The wait ended in the middle of something that cannot be continued.
    CutOff,
}

/// The number of records lost by an error, including the one it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// This many; an estimate if they cannot be counted.
    Records(u64),
    /// Unknown.
    Unknown,
}

/// A result of the engine.
pub type Result<T> = std::result::Result<T, Error>;

/// An error: its code and text, the operation it happened in, and the foreign error that caused it,
/// if any.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    code: Code,
    message: String,
    op: Option<Arc<str>>,
    /// The index of the input element at which the operation failed.
    element: Option<usize>,
    cause: Option<Arc<dyn Any + Send + Sync>>,
    /// The operation that waited when the run was ended from outside.
    waiting: Option<Arc<str>>,
    is_interrupting: bool,
    is_transient: bool,
    wait: Option<Wait>,
    lost: Option<Lost>,
    remedy: Option<Arc<str>>,
}

impl Error {
    /// An error with a code and a message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            message: message.into(),
            op: None,
            element: None,
            cause: None,
            waiting: None,
            is_interrupting: false,
            is_transient: false,
            wait: None,
            lost: None,
            remedy: None,
        }))
    }

    /// An error with [`Code::Cancelled`].
    pub fn cancelled(message: impl Into<String>) -> Self {
        Self::new(Code::Cancelled, message)
    }

    /// An error with [`Code::InvalidArgument`].
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    /// An error with [`Code::FailedPrecondition`].
    pub fn failed_precondition(message: impl Into<String>) -> Self {
        Self::new(Code::FailedPrecondition, message)
    }

    /// An error with [`Code::OutOfRange`].
    pub fn out_of_range(message: impl Into<String>) -> Self {
        Self::new(Code::OutOfRange, message)
    }

    /// An error with [`Code::Unimplemented`].
    pub fn unimplemented(message: impl Into<String>) -> Self {
        Self::new(Code::Unimplemented, message)
    }

    /// An error with [`Code::Internal`].
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// An error with [`Code::DataLoss`].
    pub fn data_loss(message: impl Into<String>) -> Self {
        Self::new(Code::DataLoss, message)
    }

    /// The failure of a file operation, in TensorFlow's words: `PATH; No such file or directory`.
    pub fn io(path: &str, error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Kind;
        if let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()) {
            return inner.named(path);
        }
        let (code, text) = match error.kind() {
            Kind::NotFound => (Code::NotFound, "No such file or directory".to_owned()),
            Kind::PermissionDenied => (Code::PermissionDenied, "Permission denied".to_owned()),
            Kind::IsADirectory => (Code::FailedPrecondition, "Is a directory".to_owned()),
            Kind::NotADirectory => (Code::FailedPrecondition, "Not a directory".to_owned()),
            Kind::InvalidFilename => (Code::InvalidArgument, "File name too long".to_owned()),
            Kind::InvalidInput => (Code::InvalidArgument, error.to_string()),
            Kind::OutOfMemory => (Code::ResourceExhausted, "Cannot allocate memory".to_owned()),
            Kind::AlreadyExists => (Code::AlreadyExists, "File exists".to_owned()),
            Kind::StorageFull => (Code::ResourceExhausted, "No space left on device".to_owned()),
            Kind::QuotaExceeded => (Code::ResourceExhausted, "Disk quota exceeded".to_owned()),
            // OutOfRange in TensorFlow, but a queue runner would treat that as the end of the
            // input.
            Kind::FileTooLarge => (Code::ResourceExhausted, "File too large".to_owned()),
            _ if error.raw_os_error().is_some_and(|number| TOO_MANY_FILES.contains(&number)) => {
                (Code::ResourceExhausted, "Too many open files".to_owned())
            }
            _ => (Code::Unknown, error.to_string()),
        };
        Self::new(code, format!("{path}; {text}"))
    }

    /// The same error with the name of the file before its text.
    pub fn named(&self, path: &str) -> Self {
        let mut error = self.clone();
        error.0.message = format!("{path}; {}", self.message());
        error
    }

    /// Attaches the error of a foreign function, such as a Python exception, so that it can be
    /// raised again unchanged.
    pub fn with_cause(mut self, cause: Arc<dyn Any + Send + Sync>) -> Self {
        self.0.cause = Some(cause);
        self
    }

    /// Marks the error as an interrupt: its cause ended the run from outside and has to be raised
    /// instead.
    pub fn as_interrupt(mut self) -> Self {
        self.0.is_interrupting = true;
        self
    }

    /// Marks the error as one of the system or of a connection: the same call may succeed later.
    pub fn transient(mut self) -> Self {
        self.0.is_transient = true;
        self
    }

    /// Marks the error as the end of a wait, which is not a fault of the file that was waited for.
    pub fn of_wait(mut self, wait: Wait) -> Self {
        self.0.wait = Some(wait);
        self
    }

    /// Sets the number of records lost.
    pub fn with_lost(mut self, lost: Lost) -> Self {
        self.0.lost = Some(lost);
        self
    }

    /// Sets the element of a batch that the error is about.
    pub fn at_element(mut self, index: usize) -> Self {
        self.0.element = Some(index);
        self
    }

    /// Adds the number of the element to the text: ` [element I of the batch]`.
    pub fn with_element(mut self) -> Self {
        if let Some(index) = self.0.element {
            self.0.message.push_str(&format!(" [element {index} of the batch]"));
        }
        self
    }

    /// Names the operation that failed, unless one is named already.
    pub fn in_op(mut self, name: &Arc<str>) -> Self {
        self.0.op.get_or_insert_with(|| Arc::clone(name));
        self
    }

    /// Sets the operation that waited when the run was ended from outside.
    pub fn waiting_in(mut self, name: &Arc<str>) -> Self {
        self.0.waiting = Some(Arc::clone(name));
        self
    }

    /// Adds a remedy to the text.
    pub fn with_remedy(&self, remedy: &str) -> Self {
        let mut error = self.clone();
        let message = &mut error.0.message;
        message.truncate(message.trim_end_matches('.').len());
        message.push_str(&format!(". {remedy}"));
        error.0.remedy = Some(remedy.into());
        error
    }

    /// Adds the origin of the data: ` [while reading FILE: record N at byte B]`.
    pub fn while_reading(mut self, provenance: &impl fmt::Display) -> Self {
        self.0.message.push_str(&format!(" [while reading {provenance}]"));
        self
    }

    /// Adds the iteration of a loop, from 0: ` [iteration I of the loop NAME]`.
    pub fn in_iteration(mut self, iteration: usize, name: &str) -> Self {
        self.0.message.push_str(&format!(" [iteration {iteration} of the loop {name}]"));
        self
    }

    /// The kind of the error.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The message for people.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// True if the run was interrupted, see [`Error::interrupting`].
    pub fn is_interrupting(&self) -> bool {
        self.0.is_interrupting
    }

    /// True if the error was marked as one of the system or of a connection.
    pub fn is_transient(&self) -> bool {
        self.0.is_transient
    }

    /// Tells whether the wait can be repeated, if the error ended one.
    pub fn wait(&self) -> Option<Wait> {
        self.0.wait
    }

    /// The number of records lost, if it was set.
    pub fn lost(&self) -> Option<Lost> {
        self.0.lost
    }

    /// The remedy added last to the text, which the exception of the host language lacks.
    pub fn remedy(&self) -> Option<&str> {
        self.0.remedy.as_deref()
    }

    /// The name of the operation that failed.
    pub fn op(&self) -> Option<&Arc<str>> {
        self.0.op.as_ref()
    }

    /// The name of the operation that waited when the run was ended.
    pub fn waiting(&self) -> Option<&Arc<str>> {
        self.0.waiting.as_ref()
    }

    /// The number of the element of its input that the error is about.
    pub fn element(&self) -> Option<usize> {
        self.0.element
    }

    /// The exception of the host language that caused it.
    pub fn cause(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.0.cause.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.code(), self.message())
    }
}

impl std::error::Error for Error {}
