//! Detects the format of an image from its first bytes.

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
        const SIGNATURES: [(&[u8], Format); 8] = [
            (b"\xff\xd8\xff", Format::Jpeg),
            (b"\x89PNG\r\n\x1a\n", Format::Png),
            (b"GIF8", Format::Gif),
            (b"BM", Format::Bmp),
            (b"II*\0", Format::Tiff),
            (b"MM\0*", Format::Tiff),
            (b"II+\0", Format::Tiff),
            (b"MM\0+", Format::Tiff),
        ];
        if contents.starts_with(b"RIFF") && contents.get(8..12) == Some(b"WEBP") {
            return Some(Self::Webp);
        }
        SIGNATURES.iter().find(|(signature, _)| contents.starts_with(signature)).map(|(_, format)| *format)
    }
}

impl Format {
    /// Returns true for formats that pipelines support but TensorFlow 1 does not.
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

/// The name of an image format that cannot be decoded.
pub fn undecoded(contents: &[u8]) -> Option<&'static str> {
    const HEIF_BRANDS: [&[u8]; 6] = [b"heic", b"heix", b"heim", b"hevc", b"mif1", b"msf1"];
    if contents.starts_with(b"\0\0\0\x0cJXL ") || contents.starts_with(b"\xff\x0a") {
        return Some("JPEG XL");
    }
    if contents.starts_with(b"\0\0\0\x0cjP  ") {
        return Some("JPEG 2000");
    }
    // The first box of the file lists its brands.
    let (size, rest) = contents.split_first_chunk()?;
    let end = (u32::from_be_bytes(*size) as usize).min(contents.len());
    let brands = rest.strip_prefix(b"ftyp").and_then(|_| contents.get(8..end))?;
    let has = |accepted: &[&[u8]]| brands.chunks_exact(4).any(|brand| accepted.contains(&brand));
    match has(&[b"avif", b"avis"]) {
        true => Some("AVIF"),
        false => has(&HEIF_BRANDS).then_some("HEIF"),
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
    fn formats_are_detected_by_their_first_bytes() {
        assert_eq!(Format::of(b"\xff\xd8\xff\xe0\0"), Some(Format::Jpeg));
        assert_eq!(Format::of(b"\x89PNG\r\n\x1a\n\0"), Some(Format::Png));
        assert_eq!(Format::of(b"GIF89a"), Some(Format::Gif));
        assert_eq!(Format::of(b"BM6"), Some(Format::Bmp));
        assert_eq!(Format::of(b"II*\0\x08"), Some(Format::Tiff));
        assert_eq!(Format::of(b"MM\0*\0"), Some(Format::Tiff));
        assert_eq!(Format::of(b"II+\0\x08\0\0\0"), Some(Format::Tiff));
        assert_eq!(Format::of(b"RIFF\x04\0\0\0WEBP"), Some(Format::Webp));
        assert_eq!(Format::of(b"RIFF\x04\0\0\0WAVE"), None);
        assert_eq!(Format::of(b"\xff\xd8"), None);
        assert_eq!(Format::of(b""), None);
    }

    #[test]
    fn error_names_an_unsupported_format() {
        let named = |brands: &[u8]| {
            let size = (brands.len() as u32 + 8).to_be_bytes();
            undecoded(&[&size, b"ftyp", brands, b"\0\0\0\x08metaavif"].concat())
        };
        assert_eq!(named(b"avif\0\0\0\0mif1miaf"), Some("AVIF"));
        assert_eq!(named(b"mif1\0\0\0\0mif1avif"), Some("AVIF"));
        assert_eq!(named(b"heic\0\0\0\0mif1heic"), Some("HEIF"));
        assert_eq!(named(b"isom\0\0\x02\0mp41"), None);
        assert_eq!(undecoded(b"\0\0\0\x04ftypavif"), None);
        assert_eq!(undecoded(b"\xff\x0a\0"), Some("JPEG XL"));
        assert_eq!(undecoded(b"\0\0\0\x0cjP  \r\n\x87\n"), Some("JPEG 2000"));
        assert_eq!(undecoded(b""), None);
    }

    #[test]
    fn error_shows_the_first_bytes_of_a_non_image() {
        assert_eq!(describe_unknown(b""), "empty file");
        assert_eq!(describe_unknown(b"nope"), "unknown format starting with 'nope'");
        assert_eq!(
            describe_unknown(b"\0\xffaaaaaaaaaaaaaaaaaaa"),
            "unknown format starting with '\\x00\\xffaaaaaaaaaaaaaa'"
        );
    }
}
