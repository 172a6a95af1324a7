//! Excerpts of user data for error messages.

use super::printable::push_printable;

/// The number of bytes to quote in an error.
const SHOWN_BYTES: usize = 256;

/// Formats `bytes` as text. Long data is shortened and terminal control characters are escaped.
pub fn excerpt(bytes: &[u8]) -> String {
    let shown = |bytes: &[u8]| {
        let mut text = String::new();
        push_printable(&mut text, &String::from_utf8_lossy(bytes));
        text
    };
    match bytes.split_at_checked(SHOWN_BYTES) {
        Some((first, [_, ..])) => format!("{}... ({} bytes)", shown(first), bytes.len()),
        _ => shown(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_abbreviated() {
        assert_eq!(excerpt(b"a\xff"), "a\u{fffd}");
        assert_eq!(excerpt(b"a\r\x1b"), "a\\r\\x1b");
        assert_eq!(excerpt(&[b'x'; 256]), "x".repeat(256));
        assert_eq!(excerpt(&[b'x'; 257]), "x".repeat(256) + "... (257 bytes)");
    }
}
