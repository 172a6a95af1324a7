//! Saves the state of a reader as bytes, with the length of its file, and restores it; see
//! [`headrace_engine::saved`].

use super::Reader;
use super::state::SavedState;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::name::FileName;
use headrace_engine::saved::{self, Chunks, Content, Reading, Restore, SavedChunks};
use std::sync::Arc;

impl Reader {
    /// Saves the state and the length of the current file; see [`headrace_engine::saved`]. Fails if
    /// the file is a pipe, which cannot be read again.
    pub fn save(&self) -> Result<Chunks> {
        let state = self.state.lock();
        let mut content = Content::default();
        content.bytes(&state.saved().encode());
        if let Some(file) = &state.file {
            content.number(length_bytes(file.name())?);
        }
        Ok(saved::one(content))
    }

    /// Continues at the position of this state. Fails if the length of the file has changed.
    pub fn prepare(self: &Arc<Self>, chunks: SavedChunks) -> Result<Restore> {
        let chunk = saved::only(chunks)?;
        let mut reading = Reading::new(&chunk);
        let bytes = reading.bytes()?;
        let expected = if reading.is_at_end() { None } else { Some(reading.number()?) };
        reading.end()?;
        let saved = SavedState::decode(bytes).ok_or_else(saved::damaged)?;
        if saved.contradiction().is_some() || saved.position.is_some() != expected.is_some() {
            return Err(saved::damaged());
        }
        if let Some(expected) = expected {
            check_length(&FileName::new(saved.work.clone()), expected)?;
        }
        let (reader, state) = (Arc::clone(self), self.restored(bytes)?);
        Ok(Box::new(move || *reader.state.lock() = state))
    }
}

/// The length of a file that can be read twice.
fn length_bytes(name: &FileName) -> Result<u64> {
    let status = name.status()?;
    match status.is_regular {
        true => Ok(status.len),
        false => Err(Error::failed_precondition(format!(
            "{}: not a regular file, so it cannot be read again from the reader's position. Save between two files.",
            name.text()
        ))),
    }
}

fn check_length(name: &FileName, expected: u64) -> Result<()> {
    let length = length_bytes(name)?;
    if length == expected {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "{}: has {length} bytes, but had {expected} when the state was saved. Restore it with the files it was saved \
         with.",
        name.text()
    )))
}
