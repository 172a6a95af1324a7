//! The replacement for a match.

use crate::error::{Error, Result};
use crate::text::excerpt::excerpt;

/// Bytes and references to groups of the match: `\0` for the whole match, and `\1` to `\9`.
pub struct Rewrite(Vec<Piece>);

#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    Bytes(Vec<u8>),
    Group(usize),
}

impl Rewrite {
    /// The largest group number that a rewrite can refer to.
    pub const MAX_GROUP: usize = 9;

    /// Parses a rewrite. Fails with `InvalidArgument` if a backslash is followed by anything but a
    /// digit or a backslash.
    pub fn new(text: &[u8]) -> Result<Self> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            let end = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
            let (plain, escape) = rest.split_at(end);
            push_bytes(&mut pieces, plain);
            rest = match escape {
                [] => &[],
                [_, b'\\', after @ ..] => {
                    push_bytes(&mut pieces, b"\\");
                    after
                }
                [_, digit @ b'0'..=b'9', after @ ..] => {
                    pieces.push(Piece::Group(usize::from(digit - b'0')));
                    after
                }
                _ => return Err(invalid(text)),
            };
        }
        Ok(Self(pieces))
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// The largest group number that the rewrite refers to.
    pub(super) fn last_group(&self) -> usize {
        let groups = self.0.iter().map(|piece| if let Piece::Group(number) = piece { *number } else { 0 });
        groups.max().unwrap_or(0)
    }
}

fn push_bytes(pieces: &mut Vec<Piece>, bytes: &[u8]) {
    match pieces.last_mut() {
        Some(Piece::Bytes(last)) => last.extend_from_slice(bytes),
        _ if bytes.is_empty() => {}
        _ => pieces.push(Piece::Bytes(bytes.to_vec())),
    }
}

fn invalid(text: &[u8]) -> Error {
    let text = excerpt(text);
    Error::invalid_argument(format!("Invalid rewrite: {text}, expected a digit or a backslash after each backslash"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_references_and_plain_bytes_are_distinguished() {
        let rewrite = Rewrite::new(br"a\\1\0\12\\").unwrap();
        let bytes = |bytes: &[u8]| Piece::Bytes(bytes.to_vec());
        assert_eq!(rewrite.pieces(), [bytes(br"a\1"), Piece::Group(0), Piece::Group(1), bytes(br"2\")]);
        assert_eq!((rewrite.last_group(), Rewrite::new(b"").unwrap().last_group()), (1, 0));
    }

    #[test]
    fn unknown_escapes_are_rejected() {
        for text in [&br"\"[..], br"\x", br"\\\"] {
            let error = Rewrite::new(text).map(drop).unwrap_err();
            assert!(error.message().ends_with("expected a digit or a backslash after each backslash"), "{error:?}");
        }
    }
}
