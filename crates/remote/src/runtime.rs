//! The thread that makes requests, and waiting for what it is asked for.

use headrace_engine::error::{Code, Error, Result, Wait};
use headrace_engine::run::check_current;
use headrace_engine::sync::Mutex;
use headrace_engine::waits::{self, Awaited};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle};
use tokio::task::AbortHandle;

/// How often a wait checks whether its run has to end.
const INTERVAL: Duration = Duration::from_millis(50);

/// The runtime, and the process it belongs to: a forked child has none of its parent's threads.
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
    let handle = start().map_err(|error| Error::new(Code::Unavailable, format!("no thread for requests: {error}")))?;
    *runtime = Some((process(), handle.clone()));
    Ok(handle)
}

fn start() -> std::io::Result<Handle> {
    // Somebody else in this process may have chosen one; then that serves.
    rustls::crypto::ring::default_provider().install_default().unwrap_or(());
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let run = move || runtime.block_on(std::future::pending::<()>());
    std::thread::Builder::new().name("headrace-io".to_owned()).spawn(run)?;
    Ok(handle)
}

/// Requests that are under way.
static REQUESTS: LazyLock<Mutex<Vec<Begun>>> = LazyLock::new(Mutex::default);

/// A number of a request, what it is for, and when it began.
type Begun = (u64, Arc<str>, Instant);

/// Tells requests apart.
static NEXT_REQUEST: AtomicU64 = AtomicU64::new(0);

/// What is asked of storages now, and since when.
pub fn requests() -> Vec<(Arc<str>, Instant)> {
    REQUESTS.lock().iter().map(|(_, what, since)| (Arc::clone(what), *since)).collect()
}

/// A request that is under way until this is dropped.
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

/// Something that the thread does. Dropping it ends that.
pub struct Task<T> {
    /// What it is for, in words.
    what: Arc<str>,
    /// What came of it, once it has ended.
    result: Arc<Mutex<Option<Result<T>>>>,
    /// Nobody sends: it ends with the work.
    ended: Receiver<()>,
    abort: Option<AbortHandle>,
}

impl<T: Send + 'static> Task<T> {
    /// Begins with it. `what` says in words what it is for.
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
        let given = Arc::clone(&result);
        // One type for all of them: the runtime has its own code for each.
        let task: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            let done = work.await;
            drop(request);
            *given.lock() = Some(done);
            drop(working);
        });
        let task = handle.spawn(task);
        Self { what, result, ended, abort: Some(task.abort_handle()) }
    }

    /// Whether [`Task::wait`] would not wait.
    pub fn is_ready(&self) -> bool {
        self.ended.try_recv() != Err(TryRecvError::Empty)
    }

    /// What came of it. Fails if the current run has to end; see [`check_current`]. May be called again then.
    pub fn wait(&mut self) -> Result<T> {
        let mut noted = None;
        while self.ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            check_current().map_err(|error| error.of_wait(Wait::Repeatable))?;
            noted.get_or_insert_with(|| waits::note(vec![self.awaited()], None));
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

/// Does something on the thread and waits for it.
pub fn wait<T: Send + 'static>(what: String, work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    Task::start(what, work).wait()
}
