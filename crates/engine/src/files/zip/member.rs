//! Reads the contents of a member.

use super::Member;
use super::directory::data_start;
use crate::error::{Error, Lost, Result};
use crate::files::name::FileName;
use crate::files::storage::{
    self, Ahead, ArchiveMember, Cache, Coming, Opening, OpeningStream, Parts, Status, Stream, as_io,
};
use crate::tensor::allocate::{self, Unread};
use bytes::Bytes;
use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use std::io::{self, Cursor, ErrorKind, Read};
use std::ops::Range;
use std::sync::Arc;

/// Files that are compressed more than this are read in several steps.
const USUAL_RATIO: usize = 8;
/// What needs memory, for messages.
const CONTENTS: &str = "the contents of the member";

impl ArchiveMember for Member {
    fn path(&self) -> Vec<u8> {
        [self.archive().name().bytes(), &b"/"[..], &self.entry().name].concat()
    }

    fn status(&self) -> Status {
        Status { len: self.entry().num_bytes, is_regular: true, version: self.archive().version().cloned() }
    }

    fn is_remote(&self) -> bool {
        self.archive().is_remote()
    }

    fn begin(&self, ahead: &Ahead) -> OpeningStream {
        Box::new(Request::new(self, ahead.cache.as_ref()))
    }

    fn parts(&self, cache: Option<&Arc<Cache>>) -> Arc<dyn Parts> {
        Arc::new(MemberParts { member: self.clone(), cache: cache.cloned() })
    }
}

impl Member {
    /// Reads the contents. Fails if they are damaged.
    pub fn read(&self) -> Result<Bytes> {
        let name = FileName::of_member(Arc::new(self.clone()));
        Request::new(self, None).contents().map_err(|error| Error::io(name.text(), &error))
    }

    /// The contents, from the bytes of the frame. Whoever reads the file adds its name to errors.
    fn contents(&self, frame: &[u8]) -> Result<Bytes> {
        let entry = self.entry();
        let start = data_start(frame, entry).map_err(|text| self.damaged(text))?;
        let packed = usize::try_from(entry.packed_bytes).ok().and_then(|count| frame.get(start..)?.get(..count));
        let packed = packed.ok_or_else(|| self.damaged("the data is cut short"))?;
        let contents = match entry.is_deflated() {
            true => self.inflated(packed)?,
            false => allocate::copied(packed).map_err(|refusal| refusal.at(CONTENTS))?,
        };
        let mut crc = Crc::new();
        crc.update(&contents);
        match crc.sum() == entry.crc {
            true => Ok(contents),
            false => Err(self.damaged("the checksum does not match")),
        }
    }

    fn inflated(&self, packed: &[u8]) -> Result<Bytes> {
        let num_bytes = self.entry().num_bytes;
        let refused = |refusal: allocate::Refusal| refusal.at(CONTENTS);
        // Never trust a size that an archive claims.
        let expected = usize::try_from(num_bytes).unwrap_or(usize::MAX).min(packed.len().saturating_mul(USUAL_RATIO));
        let mut contents = allocate::room(expected).map_err(refused)?;
        let mut inflate = DeflateDecoder::new(packed);
        let read = allocate::read_to_end(&mut inflate.by_ref().take(num_bytes.saturating_add(1)), &mut contents);
        match read {
            Err(Unread::Refused(refusal)) => Err(refused(refusal)),
            Ok(()) if contents.len() as u64 == num_bytes && inflate.total_in() == packed.len() as u64 => {
                Ok(contents.into())
            }
            Ok(()) | Err(Unread::Failed(_)) => Err(self.damaged("the compressed data is damaged")),
        }
    }

    #[cold]
    fn damaged(&self, text: &str) -> Error {
        match self.is_unchanged() {
            true => {
                Error::data_loss(format!("{text}. The archive is damaged; copy it again.")).with_lost(Lost::Records(1))
            }
            false => storage::changed("the archive was modified"),
        }
    }
}

/// A member that is being read.
struct Request {
    member: Member,
    cache: Option<Arc<Cache>>,
    /// The request for a remote archive, or `None` if it could not be sent.
    coming: Option<Box<dyn Coming>>,
}

impl Request {
    fn new(member: &Member, cache: Option<&Arc<Cache>>) -> Self {
        let file = if member.is_remote() { member.file(cache).ok() } else { None };
        let coming = file.and_then(|file| file.begin(std::iter::once(member.frame())));
        Self { member: member.clone(), cache: cache.cloned(), coming }
    }

    fn contents(self) -> io::Result<Bytes> {
        let Self { member, cache, coming } = self;
        let range = member.frame();
        let count = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut frame = allocate::zeros(count).map_err(|refusal| as_io(refusal.at(CONTENTS)))?;
        let read = match coming {
            Some(coming) => coming.wait(&mut [&mut frame[..]]),
            None => member.file(cache.as_ref()).map_err(as_io)?.read(&mut frame, range.start),
        };
        read.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => as_io(member.damaged("the archive ends before the end of the member")),
            _ => error,
        })?;
        member.contents(&frame).map_err(as_io)
    }
}

impl Opening<Box<dyn Stream>> for Request {
    fn is_ready(&mut self) -> bool {
        self.coming.as_mut().is_none_or(|coming| coming.is_ready())
    }

    fn wait(self: Box<Self>) -> io::Result<(Box<dyn Stream>, Status)> {
        let status = self.member.status();
        let contents = self.contents()?;
        Ok((Box::new(Cursor::new(contents)), status))
    }
}

impl Stream for Cursor<Bytes> {}

/// A member that is read in parts. Its contents are read as a whole each time.
#[derive(Debug)]
struct MemberParts {
    member: Member,
    cache: Option<Arc<Cache>>,
}

impl Parts for MemberParts {
    fn begin(&self, ranges: Vec<Range<u64>>) -> Box<dyn Coming> {
        Box::new(ComingParts { request: Request::new(&self.member, self.cache.as_ref()), ranges })
    }
}

struct ComingParts {
    request: Request,
    ranges: Vec<Range<u64>>,
}

impl Coming for ComingParts {
    fn is_ready(&mut self) -> bool {
        self.request.is_ready()
    }

    fn wait(self: Box<Self>, buffers: &mut [&mut [u8]]) -> io::Result<()> {
        let contents = self.request.contents()?;
        for (range, buffer) in self.ranges.iter().zip(buffers) {
            let start = usize::try_from(range.start).unwrap_or(usize::MAX);
            let part = contents.get(start..).and_then(|rest| rest.get(..buffer.len()));
            buffer.copy_from_slice(part.ok_or(ErrorKind::UnexpectedEof)?);
        }
        Ok(())
    }
}
