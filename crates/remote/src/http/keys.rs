//! Escapes the keys in a listing that a [`Path`] cannot represent.
//!
//! Storages allow keys such as `a//b` or `a/../b`. For one of those, `object_store` would fail to
//! read a whole page of names, and it would list `/a` as `a`. Before it reads a page, such keys are
//! replaced with ones that it accepts.

use bytes::Bytes;
use object_store::client::{HttpError, HttpResponse};
use object_store::path::Path;
use quick_xml::escape::unescape;
use reqwest::header::CONTENT_LENGTH;
use std::fmt::Write as _;

/// The first letter of an escaped key. Its UTF-8 bytes follow as hexadecimal digits.
const MARK: char = '\u{10ffff}';
/// The elements with the names of objects and directories in S3, Google Cloud Storage and Azure.
const TAGS: [&str; 3] = ["<Key>", "<Name>", "<Prefix>"];

/// Escapes the keys in a page of a listing.
pub async fn escaped(page: HttpResponse) -> Result<HttpResponse, HttpError> {
    let (mut parts, body) = page.into_parts();
    let body = body.bytes().await?;
    let body = match std::str::from_utf8(&body).ok().and_then(escaped_text) {
        Some(text) => {
            parts.headers.remove(CONTENT_LENGTH);
            Bytes::from(text)
        }
        None => body,
    };
    Ok(HttpResponse::from_parts(parts, body.into()))
}

/// Escapes the keys in the XML of a page. Returns `None` if nothing needs it.
fn escaped_text(page: &str) -> Option<String> {
    let mut text = String::new();
    let mut copied = 0;
    for (start, _) in page.match_indices('<') {
        let Some(tag) = TAGS.iter().find(|tag| page[start..].starts_with(**tag)) else { continue };
        let begin = start + tag.len();
        let end = page[begin..].find('<').map_or(page.len(), |length| begin + length);
        let Some(key) = unescape(&page[begin..end]).ok().filter(|key| !is_path(key)) else { continue };
        text.push_str(&page[copied..begin]);
        text.push(MARK);
        for byte in key.bytes() {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        copied = end;
    }
    (copied > 0).then(|| text + &page[copied..])
}

/// Returns true if a path represents this key of an object, or of a directory with a trailing slash.
fn is_path(key: &str) -> bool {
    let name = key.strip_suffix('/').unwrap_or(key);
    !key.starts_with(MARK) && key != "/" && Path::parse(name).is_ok_and(|path| path.as_ref() == name)
}

/// Returns the key for an escaped path, or `None` for any other path.
pub fn unescaped(path: &Path) -> Option<String> {
    let digits = path.as_ref().strip_prefix(MARK)?.as_bytes().as_chunks::<2>().0;
    let byte = |digits: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    String::from_utf8(digits.iter().map(byte).collect::<Option<_>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_no_paths_are_restored() {
        for key in ["a//b", "/a", "a//", "/", "//", "a/../b", "./a", "a&<b//", "\u{10ffff}61", "a\u{1}"] {
            let page = format!("<C><Key>a/b</Key><Key>{}</Key></C>", quick_xml::escape::escape(key));
            let page = escaped_text(&page).unwrap();
            let (_, rest) = page.split_once("<C><Key>a/b</Key><Key>").unwrap();
            let path = Path::parse(rest.strip_suffix("</Key></C>").unwrap()).unwrap();
            assert_eq!(unescaped(&path).as_deref(), Some(key));
        }
    }

    #[test]
    fn other_keys_are_unchanged() {
        let page = "<Prefix></Prefix><Name>a</Name><Key>a/b/</Key><Key>.a/b&amp; c%2F</Key><ETag>//</ETag><Key>";
        assert_eq!(escaped_text(page), None);
        assert_eq!(unescaped(&Path::parse("a/b").unwrap()), None);
    }
}
