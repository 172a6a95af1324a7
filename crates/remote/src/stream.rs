//! Reads a file from start to end and requests parts before they are needed.

use crate::failure::failed;
use crate::fetch;
use crate::file::{File, broken};
use crate::http::answers::{UNKNOWN_SIZE, WholeFile};
use crate::http::settings::{backoff, retries};
use crate::ranges;
use crate::runtime::Task;
use crate::store;
use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::storage::{Ahead, Opening, Status, Stream, as_io, changed, without_passwords};
use headrace_engine::tensor::allocate;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

/// The minimum and maximum size of a part.
const MIN_PART_BYTES: usize = 128 << 10;
const MAX_PART_BYTES: usize = 1 << 20;
/// The default maximum number of requested parts per file.
const MAX_PARTS: usize = 32;
/// The environment variable that overrides it.
const PARTS_VARIABLE: &str = "HEADRACE_STORAGE_PARTS";
/// The number of parts to request at first, unless all are requested. It doubles whenever the
/// reader has to wait.
const FIRST_PARTS: usize = 2;
/// The size of a part is the read-ahead divided by this, within the limits.
const PARTS_AHEAD: usize = 16;

/// A file that is being opened.
pub struct OpeningStream {
    task: Task<Opened>,
    ahead: Parts,
}

/// The size and the number of requested parts.
#[derive(Clone, Copy)]
struct Parts {
    part_bytes: u64,
    /// The number of parts to request at first.
    num_parts: usize,
    max_parts: usize,
}

impl Parts {
    fn of(ahead: &Ahead) -> Self {
        let part_bytes = match &ahead.cache {
            Some(_) => crate::cache::PART_BYTES as usize,
            None => (ahead.num_bytes / PARTS_AHEAD).next_power_of_two().clamp(MIN_PART_BYTES, MAX_PART_BYTES),
        };
        let most = std::env::var(PARTS_VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or(MAX_PARTS);
        let max_parts = (ahead.num_bytes / part_bytes).clamp(1, most.max(1));
        let num_parts = if ahead.is_eager { max_parts } else { FIRST_PARTS.min(max_parts) };
        Self { part_bytes: part_bytes as u64, num_parts, max_parts }
    }
}

/// An open file, with its beginning.
enum Opened {
    Ranges(Ranges),
    /// A file on a server that does not support range requests.
    Whole(Body),
}

impl OpeningStream {
    pub fn new(url: &str, ahead: &Ahead) -> Self {
        let (url, plan, ahead) = (url.to_owned(), ahead.clone(), Parts::of(ahead));
        let what = format!("opening {}", without_passwords(&url));
        Self { task: Task::start(what, async move { open(&url, &plan, ahead).await }), ahead }
    }
}

impl Opening<Box<dyn Stream>> for OpeningStream {
    fn is_ready(&mut self) -> bool {
        self.task.is_ready()
    }

    fn wait(mut self: Box<Self>) -> io::Result<(Box<dyn Stream>, Status)> {
        Ok(match self.task.wait().map_err(as_io)? {
            Opened::Ranges(ranges) => {
                let status = ranges.file.status();
                (Box::new(ranges), status)
            }
            Opened::Whole(body) => {
                let status = body.file.status();
                (Box::new(Whole::new(body, self.ahead.part_bytes)), status)
            }
        })
    }
}

/// Opens a file by requesting its first part. The response includes the file's size, so a small
/// file needs only one request.
async fn open(url: &str, ahead: &Ahead, parts: Parts) -> Result<Opened> {
    let part_bytes = parts.part_bytes;
    if ahead.cache.is_some() {
        let file = File::look_up(url, ahead.cache.as_ref(), None).await?;
        if !file.has_ranges {
            return Body::open(file.store, file.path, url).await.map(Opened::Whole);
        }
        let file = Arc::new(file);
        let mut ranges = Ranges::new(Arc::clone(&file), part_bytes, parts);
        ranges.current = ranges::range(&file, 0..part_bytes.min(file.size)).await?;
        return Ok(Opened::Ranges(ranges));
    }
    let (store, path) = store::find(url)?;
    let options = GetOptions { range: Some(GetRange::Bounded(0..part_bytes)), ..GetOptions::default() };
    let answer = match store.get_opts(&path, options).await {
        Ok(answer) => answer,
        Err(object_store::Error::NotSupported { .. }) => return Body::open(store, path, url).await.map(Opened::Whole),
        Err(error @ object_store::Error::NotFound { .. }) => return Err(failed(&error)),
        // An empty file has no first byte, so its size is requested instead.
        Err(error) => match store.head(&path).await {
            Ok(meta) if meta.size == 0 => {
                let file = File::new((store, path), &meta, url, None);
                return Ok(Opened::Ranges(Ranges::new(Arc::new(file), 0, parts)));
            }
            _ => return Err(failed(&error)),
        },
    };
    let file = Arc::new(File::new((store, path), &answer.meta, url, None));
    let end = part_bytes.min(file.size);
    let mut ranges = Ranges::new(Arc::clone(&file), end, parts);
    let mut first = fetch::room(end)?;
    let mut body = answer.into_stream();
    // If the connection breaks, the rest is requested below.
    while let Some(Ok(chunk)) = body.next().await {
        fetch::add(&mut first, &chunk, 0, end)?;
    }
    if (first.len() as u64) < end {
        let rest = fetch::part(&file, first.len() as u64..end).await?;
        first.extend_from_slice(&rest);
    }
    ranges.current = first.into();
    Ok(Opened::Ranges(ranges))
}

/// A file on a server that supports range requests.
struct Ranges {
    file: Arc<File>,
    ahead: Parts,
    /// The offset of the next read.
    at: u64,
    /// The bytes from `start` on.
    current: Bytes,
    start: u64,
    /// Requested parts, in order.
    coming: VecDeque<(Range<u64>, Task<Bytes>)>,
    /// The current maximum number of requested parts.
    num_parts: usize,
}

impl Ranges {
    /// Requests the parts after the first bytes, which the caller stores in `current`.
    fn new(file: Arc<File>, first_bytes: u64, ahead: Parts) -> Self {
        let (current, coming) = (Bytes::new(), VecDeque::new());
        let mut ranges = Self { file, ahead, at: 0, current, start: 0, coming, num_parts: ahead.num_parts };
        ranges.ask_behind(first_bytes);
        ranges
    }

    /// Requests as many parts as allowed.
    fn ask(&mut self) {
        let behind_current = self.start + self.current.len() as u64;
        self.ask_behind(behind_current.max(self.at));
    }

    /// Requests as many parts as allowed, starting at `next` if none has been requested yet.
    fn ask_behind(&mut self, next: u64) {
        let mut next = self.coming.back().map_or(next, |(range, _)| range.end);
        while self.coming.len() < self.num_parts && next < self.file.size {
            // Parts end at multiples of their size, so that cached parts are found again.
            let end = (next / self.ahead.part_bytes + 1) * self.ahead.part_bytes;
            let range = next..end.min(self.file.size);
            next = range.end;
            let (file, requested) = (Arc::clone(&self.file), range.clone());
            let what = format!("bytes {} to {} of {}", range.start, range.end, file.path);
            let task = Task::start(what, async move { ranges::range(&file, requested).await });
            self.coming.push_back((range, task));
        }
    }

    /// Makes the part with the next byte available.
    fn fill(&mut self) -> Result<()> {
        while self.coming.front().is_some_and(|(range, _)| range.end <= self.at) {
            self.coming.pop_front();
        }
        if self.coming.front().is_some_and(|(range, _)| self.at < range.start) {
            self.coming.clear();
        }
        if self.coming.is_empty() {
            (self.current, self.start) = (Bytes::new(), self.at);
        }
        self.ask();
        if self.coming.front().is_some_and(|(_, task)| !task.is_ready()) {
            self.num_parts = (2 * self.num_parts).min(self.ahead.max_parts);
            self.ask();
        }
        let Some((range, task)) = self.coming.front_mut() else {
            return Err(Error::internal("no part of the file was requested"));
        };
        match task.wait() {
            Ok(part) => (self.current, self.start) = (part, range.start),
            Err(error) => {
                // A failed part is requested again by the next read. An interrupted wait continues.
                if error.wait().is_none() {
                    self.coming.clear();
                }
                return Err(error);
            }
        }
        self.coming.pop_front();
        self.ask();
        Ok(())
    }
}

impl Read for Ranges {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.at >= self.file.size {
            return Ok(0);
        }
        if !(self.start..self.start + self.current.len() as u64).contains(&self.at) {
            self.fill().map_err(as_io)?;
        }
        let rest = &self.current[(self.at - self.start) as usize..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Ranges {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        let at = match position {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(moved) => self.at.checked_add_signed(moved),
            SeekFrom::End(moved) => self.file.size.checked_add_signed(moved),
        };
        self.at = at.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl Stream for Ranges {}

/// The only response of a server that does not support range requests.
struct Body {
    file: File,
    chunks: BoxStream<'static, object_store::Result<Bytes>>,
    /// The number of bytes consumed.
    at: u64,
    has_ended: bool,
    failures: usize,
}

impl Body {
    async fn open(store: Arc<dyn ObjectStore>, path: object_store::path::Path, url: &str) -> Result<Self> {
        let answer = store.get_opts(&path, whole()).await.map_err(|error| failed(&error))?;
        let file = File { has_ranges: false, ..File::new((store, path), &answer.meta, url, None) };
        Ok(Self { file, chunks: answer.into_stream(), at: 0, has_ended: false, failures: 0 })
    }

    /// Requests about `num_bytes` more bytes.
    fn begin_next(self, num_bytes: u64) -> Task<(Bytes, Self)> {
        let what = format!("bytes of {}, from {}", self.file.path, self.at);
        Task::start(what, self.next(num_bytes))
    }

    /// Returns about `num_bytes` more bytes, or none at the end.
    async fn next(mut self, num_bytes: u64) -> Result<(Bytes, Self)> {
        let mut bytes = fetch::room(num_bytes.min(self.file.size - self.at))?;
        while (bytes.len() as u64) < num_bytes && !self.has_ended && self.at < self.file.size {
            let why = match self.chunks.next().await {
                Some(Ok(chunk)) => {
                    self.at += chunk.len() as u64;
                    allocate::grow(&mut bytes, chunk.len()).map_err(|refusal| refusal.at("a part of a file"))?;
                    bytes.extend_from_slice(&chunk);
                    continue;
                }
                Some(Err(error)) => failed(&error).message().to_owned(),
                // The last chunk marks the end.
                None if self.file.size == UNKNOWN_SIZE => {
                    self.has_ended = true;
                    continue;
                }
                None => format!("only {} of {} bytes arrived", self.at, self.file.size),
            };
            self.resume(&why).await?;
        }
        Ok((bytes.into(), self))
    }

    /// Requests the file again and skips the bytes received before, if it certainly hasn't changed.
    async fn resume(&mut self, why: &str) -> Result<()> {
        self.failures += 1;
        if self.failures > retries() || self.file.version.is_none() {
            return Err(broken(self.failures, why));
        }
        tokio::time::sleep(backoff(self.failures)).await;
        let answer = self.file.store.get_opts(&self.file.path, whole()).await.map_err(|error| failed(&error))?;
        self.file.check(&answer.meta)?;
        let mut chunks = answer.into_stream();
        let mut missing = self.at;
        while missing > 0 {
            let mut chunk = match chunks.next().await {
                Some(Ok(chunk)) => chunk,
                None if self.file.size == UNKNOWN_SIZE => {
                    return Err(changed(format_args!("it now has fewer than the {} bytes already read", self.at)));
                }
                _ => break,
            };
            let repeated = missing.min(chunk.len() as u64);
            missing -= repeated;
            chunk.advance(repeated as usize);
            if !chunk.is_empty() {
                let rest = futures_util::stream::once(async move { Ok(chunk) });
                self.chunks = rest.chain(chunks).boxed();
                return Ok(());
            }
        }
        // If the connection breaks again before that position, the next chunk is an error, which
        // leads back here.
        self.chunks = match missing {
            0 => chunks,
            _ => futures_util::stream::once(async { Err(cut_short()) }).boxed(),
        };
        Ok(())
    }
}

/// Marks a request for the whole file.
fn whole() -> GetOptions {
    let mut options = GetOptions::default();
    options.extensions.insert(WholeFile);
    options
}

fn cut_short() -> object_store::Error {
    object_store::Error::Generic { store: "HTTP", source: "the connection broke again".into() }
}

/// A file that is read once, from start to end.
struct Whole {
    file_size: u64,
    at: u64,
    current: Bytes,
    part_bytes: u64,
    coming: Task<(Bytes, Body)>,
}

impl Whole {
    fn new(body: Body, part_bytes: u64) -> Self {
        let file_size = body.file.size;
        let coming = body.begin_next(part_bytes);
        Self { file_size, at: 0, current: Bytes::new(), part_bytes, coming }
    }
}

impl Read for Whole {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.at == self.file_size {
            return Ok(0);
        }
        if self.current.is_empty() {
            let (bytes, body) = self.coming.wait().map_err(as_io)?;
            self.current = bytes;
            // The end of a file of unknown length.
            if self.current.is_empty() {
                self.file_size = self.at;
            }
            self.coming = body.begin_next(self.part_bytes);
        }
        let count = self.current.len().min(buffer.len());
        self.current.copy_to_slice(&mut buffer[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Whole {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match position {
            SeekFrom::Current(0) => Ok(self.at),
            _ => Err(ErrorKind::NotSeekable.into()),
        }
    }
}

impl Stream for Whole {}
