//! Excerpts of the user's data for error messages.

/// How many bytes an error shows.
const SHOWN_BYTES: usize = 256;

/// `bytes` as text, shortened if they are long.
pub fn excerpt(bytes: &[u8]) -> String {
    match bytes.split_at_checked(SHOWN_BYTES) {
        Some((shown, [_, ..])) => format!("{}... ({} bytes)", String::from_utf8_lossy(shown), bytes.len()),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_shown_in_part() {
        assert_eq!(excerpt(b"a\xff"), "a\u{fffd}");
        assert_eq!(excerpt(&[b'x'; 256]), "x".repeat(256));
        assert_eq!(excerpt(&[b'x'; 257]), "x".repeat(256) + "... (257 bytes)");
    }
}
