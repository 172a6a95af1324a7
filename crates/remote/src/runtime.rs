//! The thread that makes requests, and how to wait for results.

use headrace_engine::error::{Code, Error, Result, Wait};
use headrace_engine::run::{catch_library_panic, check_current};
use headrace_engine::sync::Mutex;
use headrace_engine::waits::{self, Awaited};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::sync::{Arc, LazyLock};
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle};
use tokio::task::AbortHandle;

/// How often a wait checks whether its run was stopped.
const INTERVAL: Duration = Duration::from_millis(50);

/// The runtime and the process it belongs to. A forked child has none of its parent's threads.
static RUNTIME: LazyLock<Mutex<Option<(u32, Handle)>>> = LazyLock::new(|| Mutex::new(None));

/// The process whose runtime and connections may be used.
pub fn process() -> u32 {
    std::process::id()
}

fn handle() -> Result<Handle> {
    let mut runtime = RUNTIME.lock();
    if let Some((owner, handle)) = &*runtime
        && *owner == process()
    {
        return Ok(handle.clone());
    }
    let handle = start()
        .map_err(|error| Error::new(Code::Unavailable, format!("cannot start the thread for requests: {error}")))?;
    *runtime = Some((process(), handle.clone()));
    Ok(handle)
}

fn start() -> std::io::Result<Handle> {
    // If another part of this process has chosen a provider, that one is used.
    rustls::crypto::ring::default_provider().install_default().unwrap_or(());
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let run = move || runtime.block_on(std::future::pending::<()>());
    std::thread::Builder::new().name("headrace-io".to_owned()).spawn(run)?;
    Ok(handle)
}

/// Requests in progress.
static REQUESTS: LazyLock<Mutex<Vec<RequestInProgress>>> = LazyLock::new(Mutex::default);

/// The number of a request, its description, and when it began.
type RequestInProgress = (u64, Arc<str>, Instant);

/// The number of the next request.
static NEXT_REQUEST: AtomicU64 = AtomicU64::new(0);

/// The requests in progress, and when they began.
pub fn requests() -> Vec<(Arc<str>, Instant)> {
    REQUESTS.lock().iter().map(|(_, what, since)| (Arc::clone(what), *since)).collect()
}

/// Lists a request as being in progress until it is dropped.
struct Request(u64);

impl Request {
    fn begin(what: Arc<str>) -> Self {
        let number = NEXT_REQUEST.fetch_add(1, Ordering::Relaxed);
        REQUESTS.lock().push((number, what, Instant::now()));
        Self(number)
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        REQUESTS.lock().retain(|(number, _, _)| *number != self.0);
    }
}

/// Work that runs on the request thread. Dropping it cancels the work.
pub struct Task<T> {
    /// A description of the work.
    what: Arc<str>,
    /// The result, once the work has ended.
    result: Arc<Mutex<Option<Result<T>>>>,
    /// Never receives anything. The channel disconnects when the work ends.
    ended: Receiver<()>,
    abort: Option<AbortHandle>,
}

impl<T: Send + 'static> Task<T> {
    /// Starts the work. `what` describes it.
    pub fn start(what: String, work: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        let what: Arc<str> = what.into();
        let result = Arc::new(Mutex::new(None));
        let (working, ended) = sync_channel(0);
        let handle = match handle() {
            Ok(handle) => handle,
            Err(error) => {
                *result.lock() = Some(Err(error));
                return Self { what, result, ended, abort: None };
            }
        };
        let request = Request::begin(Arc::clone(&what));
        let shared = Arc::clone(&result);
        // All futures are converted to one type, because the runtime is compiled for each type.
        let task: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            let mut work = pin!(work);
            let done = poll_fn(|context| match catch_library_panic(|| work.as_mut().poll(context)) {
                Ok(poll) => poll,
                Err(text) => Poll::Ready(Err(Error::internal(format!("a request failed: {text}")))),
            });
            let done = done.await;
            drop(request);
            *shared.lock() = Some(done);
            drop(working);
        });
        let task = handle.spawn(task);
        Self { what, result, ended, abort: Some(task.abort_handle()) }
    }

    /// Returns true if [`Task::wait`] would not have to wait.
    pub fn is_ready(&self) -> bool {
        self.ended.try_recv() != Err(TryRecvError::Empty)
    }

    /// Waits for the result. Fails if the current run is stopped; see [`check_current`]. It may be
    /// called again afterwards.
    pub fn wait(&mut self) -> Result<T> {
        let mut registered = None;
        while self.ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            check_current().map_err(|error| error.of_wait(Wait::Repeatable))?;
            registered.get_or_insert_with(|| waits::register(vec![self.awaited()], None));
        }
        self.result.lock().take().unwrap_or_else(|| Err(Error::internal("a request ended without an answer")))
    }
}

impl<T> Task<T> {
    fn awaited(&self) -> Awaited {
        let what = Arc::clone(&self.what);
        Awaited::new(move || format!("storage: {what}"))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if let Some(abort) = &self.abort {
            abort.abort();
        }
    }
}

/// Runs work on the request thread and waits for it.
pub fn wait<T: Send + 'static>(what: String, work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    Task::start(what, work).wait()
}
