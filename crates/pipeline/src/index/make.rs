//! Creates a file's index before its first use.

use super::index_files::{is_unchanged, open, rest_of_tick, write_named};
use super::sidecar::{Identity, header_of};
use crate::blocks::block::FileProvenance;
use crate::index::file_index::is_uncompressed;
use crate::records::{HeaderScan, RandomAccess};
use headrace_engine::error::{Error, Result};
use headrace_engine::files::name::FileName;
use headrace_engine::tensor::allocate;
use std::io::Read;
use std::sync::Arc;

/// The maximum length of an index header.
const START_BYTES: u64 = 64 << 10;

/// Writes the index of a file to `target`, unless it exists already. Returns the number of records,
/// and whether the index was written.
pub fn make_index(access: &dyn RandomAccess, file: &Arc<FileProvenance>, target: &FileName) -> Result<(u64, bool)> {
    let name = file.name.text();
    let kind = access.kind().ok_or_else(|| Error::internal("this format needs no index"))?;
    let (input, status) = file.begin_parts(None)?.wait()?;
    let identity = Identity::of(&status).ok_or_else(|| {
        Error::failed_precondition(format!(
            "{name}: the storage reports neither an ETag nor a modification time, so an outdated index could not be \
             detected. Copy the file to this machine"
        ))
    })?;
    if status.len == 0 {
        return Ok((0, false));
    }
    if let Some(count) = there(target, &kind, &identity) {
        return Ok((count, false));
    }
    // Data that is read from now on is the content at that modification time.
    std::thread::sleep(rest_of_tick(&identity));
    let mut input = HeaderScan::new(input, file, status.len)?;
    if !is_uncompressed(access.codec(), file, &mut input)? {
        return Err(Error::invalid_argument(format!(
            "{name}: the file is compressed, so its records cannot be accessed at random. Decompress the file"
        )));
    }
    let scan = access.scan(file, &mut input)?;
    if let Some(fault) = scan.faults.first() {
        return Err(fault.error.clone());
    }
    if !is_unchanged(&file.name, &status)? {
        let text = "the file changed while it was read. Finish writing the files before you index them";
        return Err(Error::failed_precondition(format!("{name}: {text}")));
    }
    write_named(target, &kind, &identity, &scan).map_err(|error| Error::io(target.text(), &error))?;
    Ok((scan.offsets.len(), true))
}

/// The number of records in a file's existing index.
fn there(target: &FileName, kind: &str, identity: &Identity) -> Option<u64> {
    let header = match target.url() {
        None => {
            let sidecar = open(&target.path()).ok()?;
            sidecar.is_whole().then(|| sidecar.header().clone())?
        }
        Some(_) => {
            let (input, _) = target.open().ok()?;
            let mut start = Vec::new();
            allocate::read_to_end(&mut input.take(START_BYTES), &mut start).ok()?;
            header_of(&start).ok()?
        }
    };
    (header.kind == kind && header.identity == *identity).then_some(header.count)
}
