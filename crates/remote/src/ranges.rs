//! Reads ranges of files, with several requests for a long range and none for cached parts.

use crate::cache::{CachedFile, PART_BYTES};
use crate::fetch::{part, room};
use crate::file::File;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use headrace_engine::error::Result;
use std::ops::Range;

/// The maximum number of concurrent requests per call.
pub const MAX_REQUESTS: usize = 64;
/// The maximum number of cached parts that a call reads or requests concurrently.
const MAX_KEPT: usize = 16;

/// Reads a range, which must be inside the file. A long range takes several requests.
pub async fn range(file: &File, range: Range<u64>) -> Result<Bytes> {
    if let Some(kept) = &file.kept {
        return kept_range(file, kept, range).await;
    }
    if range.end - range.start <= 2 * PART_BYTES {
        return part(file, range).await;
    }
    let starts = (range.start..range.end).step_by(PART_BYTES as usize);
    let parts = starts.map(|start| part(file, start..range.end.min(start + PART_BYTES)));
    let parts: Vec<_> = stream::iter(parts).buffered(MAX_REQUESTS).try_collect().await?;
    let mut bytes = room(range.end - range.start)?;
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    Ok(bytes.into())
}

/// Reads a range of a file. Parts that are not cached are requested and then cached.
async fn kept_range(file: &File, kept: &CachedFile, range: Range<u64>) -> Result<Bytes> {
    let (first, last) = (range.start / PART_BYTES, range.end.saturating_sub(1) / PART_BYTES);
    let parts = (first..=last).map(|number| kept_part(file, kept, number));
    let parts: Vec<_> = stream::iter(parts).buffered(MAX_KEPT).try_collect().await?;
    let within = |number: u64, part: &Bytes| {
        let start = number * PART_BYTES;
        let (from, to) = (range.start.max(start) - start, range.end.min(start + part.len() as u64) - start);
        part.slice(from as usize..to.max(from) as usize)
    };
    if let [part] = &parts[..] {
        return Ok(within(first, part));
    }
    let mut bytes = room(range.end - range.start)?;
    for (number, part) in (first..).zip(&parts) {
        bytes.extend_from_slice(&within(number, part));
    }
    Ok(bytes.into())
}

async fn kept_part(file: &File, kept: &CachedFile, number: u64) -> Result<Bytes> {
    let range = number * PART_BYTES..file.size.min((number + 1) * PART_BYTES);
    if range.is_empty() {
        return Ok(Bytes::new());
    }
    if let Some(bytes) = kept.read(number, (range.end - range.start) as usize).await? {
        return Ok(bytes);
    }
    let bytes = part(file, range).await?;
    kept.keep(number, bytes.clone()).await?;
    Ok(bytes)
}
