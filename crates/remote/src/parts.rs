//! Random access to parts of a file.

use crate::file::File;
use crate::ranges::{self, MAX_REQUESTS};
use crate::runtime::Task;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use headrace_engine::error::Result;
use headrace_engine::files::storage::{Cache, Coming, Opening, Parts, Status, as_io, without_passwords};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// A file that is being opened.
pub struct OpeningParts(Task<File>);

impl OpeningParts {
    pub fn new(url: &str, cache: Option<&Arc<Cache>>, status: Option<&Status>) -> Self {
        let (url, cache, status) = (url.to_owned(), cache.cloned(), status.cloned());
        let what = format!("opening {}", without_passwords(&url));
        Self(Task::start(what, async move { File::look_up(&url, cache.as_ref(), status.as_ref()).await }))
    }
}

impl Opening<Arc<dyn Parts>> for OpeningParts {
    fn is_ready(&mut self) -> bool {
        self.0.is_ready()
    }

    fn wait(mut self: Box<Self>) -> io::Result<(Arc<dyn Parts>, Status)> {
        let file = self.0.wait().map_err(as_io)?;
        let status = file.status();
        Ok((Arc::new(Open(Arc::new(file))), status))
    }
}

#[derive(Debug)]
struct Open(Arc<File>);

impl Parts for Open {
    fn begin(&self, ranges: Vec<Range<u64>>) -> Box<dyn Coming> {
        let file = Arc::clone(&self.0);
        let (num_ranges, first) = (ranges.len(), ranges.first().map_or(0, |range| range.start));
        let what = format!("{num_ranges} parts of {}, the first at byte {first}", file.path);
        Box::new(Ranges(Task::start(what, async move { read(&file, ranges).await })))
    }
}

/// Reads the bytes of each range, fewer if the file ends first.
async fn read(file: &File, ranges: Vec<Range<u64>>) -> Result<Vec<Bytes>> {
    let within = |range: Range<u64>| range.start.min(file.size)..range.end.min(file.size);
    let reads = ranges.into_iter().map(|range| ranges::range(file, within(range)));
    stream::iter(reads).buffered(MAX_REQUESTS).try_collect().await
}

struct Ranges(Task<Vec<Bytes>>);

impl Coming for Ranges {
    fn is_ready(&mut self) -> bool {
        self.0.is_ready()
    }

    fn wait(mut self: Box<Self>, buffers: &mut [&mut [u8]]) -> io::Result<()> {
        let parts = self.0.wait().map_err(as_io)?;
        for (buffer, part) in buffers.iter_mut().zip(&parts) {
            if buffer.len() != part.len() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            buffer.copy_from_slice(part);
        }
        Ok(())
    }
}
