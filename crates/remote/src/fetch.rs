//! Requests that read part of a file, resuming after a broken connection, and requests that
//! upload a whole file.

use crate::failure::{at_fault, failed};
use crate::file::{File, broken};
use crate::http::answers::oversent;
use crate::http::settings::{backoff, retries};
use crate::store;
use bytes::Bytes;
use futures_util::StreamExt;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::allocate;
use object_store::{GetRange, ObjectStoreExt, PutPayload, WriteMultipart};
use std::ops::Range;
use std::path::Path;

/// The number of bytes to read from a local file at a time and send in one request.
const UPLOAD_BYTES: usize = 8 << 20;
const MAX_UPLOADS: usize = 4;

/// Reads a range with one request at a time. Bytes received before a connection breaks are not
/// requested again.
pub async fn part(file: &File, range: Range<u64>) -> Result<Bytes> {
    let mut bytes = room(range.end - range.start)?;
    for failures in 1.. {
        let rest = range.start + bytes.len() as u64..range.end;
        let why = match receive(file, rest, &mut bytes).await? {
            None => return Ok(bytes.into()),
            Some(why) => why,
        };
        if failures > retries() {
            return Err(broken(failures, &why));
        }
        tokio::time::sleep(backoff(failures)).await;
    }
    Err(Error::internal("a request was tried for ever"))
}

/// Appends the bytes of a range. If only some of them arrived and the rest can be requested,
/// returns the reason.
async fn receive(file: &File, range: Range<u64>, bytes: &mut Vec<u8>) -> Result<Option<String>> {
    if range.is_empty() {
        return Ok(None);
    }
    let requested = range.end - range.start;
    let options = file.options().with_range(Some(GetRange::Bounded(range)));
    let answer = file.store.get_opts(&file.path, options).await.map_err(|error| failed(&error))?;
    file.check(&answer.meta)?;
    let before = bytes.len();
    let mut body = answer.into_stream();
    while let Some(chunk) = body.next().await {
        match chunk {
            Ok(chunk) => add(bytes, &chunk, before, requested)?,
            Err(error) => return Ok(Some(failed(&error).message().to_owned())),
        }
    }
    match (bytes.len() - before) as u64 {
        count if count < requested => Ok(Some(format!("only {count} of {requested} bytes arrived"))),
        _ => Ok(None),
    }
}

/// Appends bytes to a range of `requested` bytes, which begins at `start` in `bytes`.
pub fn add(bytes: &mut Vec<u8>, chunk: &[u8], start: usize, requested: u64) -> Result<()> {
    let count = (bytes.len() - start + chunk.len()) as u64;
    if count > requested {
        return Err(at_fault(&oversent(count, requested)));
    }
    bytes.extend_from_slice(chunk);
    Ok(())
}

/// Reserves memory for `num_bytes` bytes.
pub fn room(num_bytes: u64) -> Result<Vec<u8>> {
    let num_bytes = usize::try_from(num_bytes).unwrap_or(usize::MAX);
    allocate::room(num_bytes).map_err(|refusal| refusal.at("a part of a file"))
}

/// Uploads a local file.
pub async fn upload(from: &Path, url: &str) -> Result<()> {
    let (store, path) = store::find(url)?;
    let size = std::fs::metadata(from).map_err(|error| local(from, &error))?.len();
    if size <= UPLOAD_BYTES as u64 {
        let bytes = std::fs::read(from).map_err(|error| local(from, &error))?;
        return store.put(&path, PutPayload::from(bytes)).await.map(drop).map_err(|error| failed(&error));
    }
    let mut file = std::fs::File::open(from).map_err(|error| local(from, &error))?;
    let upload = store.put_multipart(&path).await.map_err(|error| failed(&error))?;
    let mut upload = WriteMultipart::new_with_chunk_size(upload, UPLOAD_BYTES);
    if let Err(error) = send(&mut file, from, &mut upload).await {
        // The storage keeps the parts of an upload that is neither finished nor aborted.
        upload.abort().await.unwrap_or_default();
        return Err(error);
    }
    upload.finish().await.map(drop).map_err(|error| failed(&error))
}

/// Sends all parts of a local file.
async fn send(file: &mut std::fs::File, from: &Path, upload: &mut WriteMultipart) -> Result<()> {
    loop {
        upload.wait_for_capacity(MAX_UPLOADS).await.map_err(|error| failed(&error))?;
        let mut chunk = room(UPLOAD_BYTES as u64)?;
        let read = std::io::Read::read_to_end(&mut std::io::Read::take(&mut *file, UPLOAD_BYTES as u64), &mut chunk);
        if read.map_err(|error| local(from, &error))? == 0 {
            return Ok(());
        }
        upload.put(chunk.into());
    }
}

fn local(path: &Path, error: &std::io::Error) -> Error {
    Error::io(&path.to_string_lossy(), error)
}
