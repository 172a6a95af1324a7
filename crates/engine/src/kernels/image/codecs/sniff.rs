//! Recognising the format of an image by its first bytes.

use std::ascii::escape_default;
use std::fmt;

/// A format that can be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Jpeg,
    Png,
    Gif,
    Bmp,
    Tiff,
    Webp,
}

impl Format {
    pub fn of(contents: &[u8]) -> Option<Self> {
        const SIGNATURES: [(&[u8], Format); 6] = [
            (b"\xff\xd8\xff", Format::Jpeg),
            (b"\x89PNG\r\n\x1a\n", Format::Png),
            (b"GIF8", Format::Gif),
            (b"BM", Format::Bmp),
            (b"II*\0", Format::Tiff),
            (b"MM\0*", Format::Tiff),
        ];
        if contents.starts_with(b"RIFF") && contents.get(8..12) == Some(b"WEBP") {
            return Some(Self::Webp);
        }
        SIGNATURES.iter().find(|(signature, _)| contents.starts_with(signature)).map(|(_, format)| *format)
    }
}

impl Format {
    /// True for a format that pipelines read and TensorFlow 1 does not.
    pub fn is_of_pipelines(self) -> bool {
        matches!(self, Self::Tiff | Self::Webp)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jpeg => "JPEG",
            Self::Png => "PNG",
            Self::Gif => "GIF",
            Self::Bmp => "BMP",
            Self::Tiff => "TIFF",
            Self::Webp => "WebP",
        })
    }
}

/// Describes contents that are not an image.
pub fn describe_unknown(contents: &[u8]) -> String {
    if contents.is_empty() {
        return "empty file".to_owned();
    }
    let start: String = contents.iter().take(16).flat_map(|byte| escape_default(*byte)).map(char::from).collect();
    format!("unknown format starting with '{start}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_recognised_by_its_first_bytes() {
        assert_eq!(Format::of(b"\xff\xd8\xff\xe0\0"), Some(Format::Jpeg));
        assert_eq!(Format::of(b"\x89PNG\r\n\x1a\n\0"), Some(Format::Png));
        assert_eq!(Format::of(b"GIF89a"), Some(Format::Gif));
        assert_eq!(Format::of(b"BM6"), Some(Format::Bmp));
        assert_eq!(Format::of(b"II*\0\x08"), Some(Format::Tiff));
        assert_eq!(Format::of(b"MM\0*\0"), Some(Format::Tiff));
        assert_eq!(Format::of(b"RIFF\x04\0\0\0WEBP"), Some(Format::Webp));
        assert_eq!(Format::of(b"RIFF\x04\0\0\0WAVE"), None);
        assert_eq!(Format::of(b"\xff\xd8"), None);
        assert_eq!(Format::of(b""), None);
    }

    #[test]
    fn contents_that_are_not_an_image_are_shown() {
        assert_eq!(describe_unknown(b""), "empty file");
        assert_eq!(describe_unknown(b"nope"), "unknown format starting with 'nope'");
        assert_eq!(
            describe_unknown(b"\0\xffaaaaaaaaaaaaaaaaaaa"),
            "unknown format starting with '\\x00\\xffaaaaaaaaaaaaaa'"
        );
    }
}
