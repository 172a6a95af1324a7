//! One error type for the whole engine, with the codes of TensorFlow's `tensorflow::error::Code`.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The kind of failure. The numbers are TensorFlow's and determine the Python class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// The call was cancelled, or its queue is closed.
    Cancelled = 1,
    /// None of the other codes applies.
    Unknown = 2,
    /// An argument or some data is invalid.
    InvalidArgument = 3,
    /// The call took longer than allowed.
    DeadlineExceeded = 4,
    /// A file does not exist.
    NotFound = 5,
    /// The file or object to create already exists.
    AlreadyExists = 6,
    /// The system does not permit the operation.
    PermissionDenied = 7,
    /// Memory, disk space or a quota has run out.
    ResourceExhausted = 8,
    /// Something else has to be done first, such as initializing a variable.
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
    /// A file is damaged or truncated.
    DataLoss = 15,
    /// The caller has not authenticated.
    Unauthenticated = 16,
}

/// ENFILE and EMFILE, on Linux and macOS.
const TOO_MANY_FILES: [i32; 2] = [23, 24];

/// Whether a wait that has ended can be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// No data is lost. The same wait can begin again.
    Repeatable,
    /// The wait ended in the middle of something that cannot be continued.
    CutOff,
}

/// How many records are lost because of an error, including the one it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// This many. It is an estimate if they cannot be counted.
    Records(u64),
    /// Unknown.
    Unknown,
}

/// A result of the engine.
pub type Result<T> = std::result::Result<T, Error>;

/// An error: its code and message, the operation in which it occurred, and the foreign error that
/// caused it, if any.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    code: Code,
    message: String,
    op: Option<Arc<str>>,
    /// The index of the input element for which the operation failed.
    element: Option<usize>,
    cause: Option<Arc<dyn Any + Send + Sync>>,
    /// The operation that was waiting when the run was ended from outside.
    waiting: Option<Arc<str>>,
    is_interrupting: bool,
    is_transient: bool,
    wait: Option<Wait>,
    lost: Option<Lost>,
    remedy: Option<Arc<str>>,
}

impl Error {
    /// Creates an error with a code and a message.
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

    /// Creates an error with [`Code::Cancelled`].
    pub fn cancelled(message: impl Into<String>) -> Self {
        Self::new(Code::Cancelled, message)
    }

    /// Creates an error with [`Code::InvalidArgument`].
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    /// Creates an error with [`Code::FailedPrecondition`].
    pub fn failed_precondition(message: impl Into<String>) -> Self {
        Self::new(Code::FailedPrecondition, message)
    }

    /// Creates an error with [`Code::OutOfRange`].
    pub fn out_of_range(message: impl Into<String>) -> Self {
        Self::new(Code::OutOfRange, message)
    }

    /// Creates an error with [`Code::Unimplemented`].
    pub fn unimplemented(message: impl Into<String>) -> Self {
        Self::new(Code::Unimplemented, message)
    }

    /// Creates an error with [`Code::Internal`].
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// Creates an error with [`Code::DataLoss`].
    pub fn data_loss(message: impl Into<String>) -> Self {
        Self::new(Code::DataLoss, message)
    }

    /// Creates an error for a failed file operation, worded as in TensorFlow: `PATH; No such file
    /// or directory`.
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
            // TensorFlow uses OutOfRange, but a queue runner would mistake that for the end of the
            // input.
            Kind::FileTooLarge => (Code::ResourceExhausted, "File too large".to_owned()),
            _ if error.raw_os_error().is_some_and(|number| TOO_MANY_FILES.contains(&number)) => {
                (Code::ResourceExhausted, "Too many open files".to_owned())
            }
            _ => (Code::Unknown, error.to_string()),
        };
        Self::new(code, format!("{path}; {text}"))
    }

    /// Returns the same error with the file name in front of its message.
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

    /// Marks the error as an interrupt. Its cause ended the run from outside and has to be raised
    /// instead.
    pub fn as_interrupt(mut self) -> Self {
        self.0.is_interrupting = true;
        self
    }

    /// Marks the error as temporary. It comes from the system or a connection, and the same call
    /// may succeed later.
    pub fn transient(mut self) -> Self {
        self.0.is_transient = true;
        self
    }

    /// Marks the error as the end of a wait, which is not the fault of the awaited file.
    pub fn of_wait(mut self, wait: Wait) -> Self {
        self.0.wait = Some(wait);
        self
    }

    /// Sets the number of lost records.
    pub fn with_lost(mut self, lost: Lost) -> Self {
        self.0.lost = Some(lost);
        self
    }

    /// Sets which element of a batch the error is about.
    pub fn at_element(mut self, index: usize) -> Self {
        self.0.element = Some(index);
        self
    }

    /// Adds the number of the element to the message: ` [element I of the batch]`.
    pub fn with_element(mut self) -> Self {
        if let Some(index) = self.0.element {
            self.0.message.push_str(&format!(" [element {index} of the batch]"));
        }
        self
    }

    /// Sets the name of the operation that failed, unless it is already set.
    pub fn in_op(mut self, name: &Arc<str>) -> Self {
        self.0.op.get_or_insert_with(|| Arc::clone(name));
        self
    }

    /// Records the operation that was waiting when the run was cancelled from outside.
    pub fn waiting_in(mut self, name: &Arc<str>) -> Self {
        self.0.waiting = Some(Arc::clone(name));
        self
    }

    /// Adds a remedy to the message.
    pub fn with_remedy(&self, remedy: &str) -> Self {
        let mut error = self.clone();
        let message = &mut error.0.message;
        message.truncate(message.trim_end_matches('.').len());
        message.push_str(&format!(". {remedy}"));
        error.0.remedy = Some(remedy.into());
        error
    }

    /// Adds the origin of the data to the message: ` [while reading FILE: record N at byte B]`.
    pub fn while_reading(mut self, provenance: &impl fmt::Display) -> Self {
        self.0.message.push_str(&format!(" [while reading {provenance}]"));
        self
    }

    /// Adds the iteration of a loop, counting from 0, to the message: ` [iteration I of the loop
    /// NAME]`.
    pub fn in_iteration(mut self, iteration: usize, name: &str) -> Self {
        self.0.message.push_str(&format!(" [iteration {iteration} of the loop {name}]"));
        self
    }

    /// Adds the number of the element of a list to the message: ` [element I of the list]`.
    pub fn in_list(mut self, index: usize) -> Self {
        self.0.message.push_str(&format!(" [element {index} of the list]"));
        self
    }

    /// The kind of the error.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The human-readable message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns true if the run was interrupted; see [`Error::interrupting`].
    pub fn is_interrupting(&self) -> bool {
        self.0.is_interrupting
    }

    /// Returns true if the error comes from the system or a connection, so that the call may
    /// succeed later.
    pub fn is_transient(&self) -> bool {
        self.0.is_transient
    }

    /// Whether the wait can be repeated, if the error ended one.
    pub fn wait(&self) -> Option<Wait> {
        self.0.wait
    }

    /// The number of lost records, if it was set.
    pub fn lost(&self) -> Option<Lost> {
        self.0.lost
    }

    /// The remedy that was last added to the message. The host language's exception lacks it.
    pub fn remedy(&self) -> Option<&str> {
        self.0.remedy.as_deref()
    }

    /// The name of the operation that failed.
    pub fn op(&self) -> Option<&Arc<str>> {
        self.0.op.as_ref()
    }

    /// The name of the operation that was waiting when the run was ended.
    pub fn waiting(&self) -> Option<&Arc<str>> {
        self.0.waiting.as_ref()
    }

    /// The index of the input element that the error is about.
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
