//! Escapes names and data in messages so that terminals don't interpret them.

use std::fmt::Write;

/// Appends a text to `shown`. Hidden characters, and characters that affect how others are
/// displayed, are escaped as in Rust and Python: `\r`, `\x1b`, `\u202e`.
pub fn push_printable(shown: &mut String, text: &str) {
    for letter in text.chars() {
        let written = match letter {
            '\n' => shown.write_str("\\n"),
            '\r' => shown.write_str("\\r"),
            '\t' => shown.write_str("\\t"),
            _ if !is_hidden(letter) => shown.write_char(letter),
            '\0'..='\u{ff}' => write!(shown, "\\x{:02x}", u32::from(letter)),
            _ => write!(shown, "\\u{:04x}", u32::from(letter)),
        };
        debug_assert!(written.is_ok(), "a string takes what is written");
    }
}

/// Returns true for control characters, and for characters that reverse the text direction, end
/// lines or have no width.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// Formats the name of a file. Bytes that are not valid UTF-8 are escaped, too.
pub fn printable_name(name: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in name.utf8_chunks() {
        push_printable(&mut shown, chunk.valid());
        for byte in chunk.invalid() {
            let written = write!(shown, "\\x{byte:02x}");
            debug_assert!(written.is_ok(), "a string takes what is written");
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_control_characters_are_escaped() {
        assert_eq!(printable_name("data/Größe 東.txt".as_bytes()), "data/Größe 東.txt");
        assert_eq!(printable_name(b"a\r\n\x1b[2Jb\xff\0"), "a\\r\\n\\x1b[2Jb\\xff\\x00");
        assert_eq!(printable_name("a\u{202e}b\u{9b}".as_bytes()), "a\\u202eb\\x9b");
    }
}
