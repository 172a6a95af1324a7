//! Detects the format of an audio file from its content.

use super::{damaged, unsupported};
use crate::error::Result;
use crate::files::content::{Kind, content};

/// A format that can be decoded.
#[derive(Debug, PartialEq)]
pub enum Format {
    Wav,
    /// The stream begins at this byte.
    Flac(usize),
    /// The first frame is at or after this byte.
    Mp3(usize),
    Ogg,
}

/// Detects the format. Fails if it is not supported.
pub fn format(contents: &[u8]) -> Result<Format> {
    let start = behind_id3v2(contents)?;
    let bytes = &contents[start..];
    let is_at = |offset: usize, word: &[u8]| bytes.get(offset..).is_some_and(|rest| rest.starts_with(word));
    let name = match () {
        () if is_at(0, b"fLaC") => return Ok(Format::Flac(start)),
        () if (is_at(0, b"RIFF") || is_at(0, b"RF64")) && is_at(8, b"WAVE") && start == 0 => return Ok(Format::Wav),
        () if is_at(0, b"OggS") && start == 0 => return Ok(Format::Ogg),
        () if bytes.is_empty() && start == 0 => "an empty file",
        () if is_at(0, b"RIFX") => "a big-endian WAV file",
        () if is_at(0, b"RIFF") => "a RIFF file that is not WAV",
        () if is_at(0, b"FORM") && (is_at(8, b"AIFF") || is_at(8, b"AIFC")) => "AIFF",
        () if is_at(4, b"ftyp") => "MP4 (AAC or ALAC)",
        () if is_at(0, b"\x1a\x45\xdf\xa3") => "Matroska or WebM",
        () if is_at(0, b"caff") => "CAF",
        () if is_at(0, b".snd") => "AU",
        () if is_at(0, b"wvpk") => "WavPack",
        () if is_at(0, b"MAC ") => "Monkey's Audio",
        () if is_at(0, b"#!AMR") => "AMR",
        () if is_at(0, b"NIST_1A") => "NIST SPHERE",
        () if is_at(0, b"\x30\x26\xb2\x75") => "Windows Media",
        () => match bytes.iter().position(|byte| *byte != 0).map(|zeros| &bytes[zeros..]) {
            Some([0xff, second, ..]) if second & 0xf6 == 0xf0 => "AAC in ADTS frames",
            Some([0xff, second, third, ..]) if second & 0xe0 == 0xe0 && third & 0xf0 != 0xf0 => {
                return match (second & 0x06, second & 0x18) {
                    (0x02, 0x00 | 0x10 | 0x18) => Ok(Format::Mp3(start)),
                    (0x04, _) => Err(unsupported("the file is MPEG layer 2 audio")),
                    (0x06, _) => Err(unsupported("the file is MPEG layer 1 audio")),
                    _ => Err(unsupported(unknown(bytes))),
                };
            }
            _ if start > 0 => {
                return Err(damaged(format!("no audio follows the {} bytes of ID3 tags", start)));
            }
            _ => return Err(unsupported(unknown(bytes))),
        },
    };
    Err(unsupported(format!("the file is {name}")))
}

fn unknown(bytes: &[u8]) -> String {
    if let Some(detected) =
        content(bytes).filter(|detected| matches!(detected.kind, Kind::Pointer | Kind::Page | Kind::Compressed))
    {
        return format!("the file is {detected}");
    }
    format!(
        "the file begins with b'{}', which is not a known audio format",
        bytes[..bytes.len().min(12)].escape_ascii()
    )
}

/// Returns the position after all ID3v2 tags at the beginning of a file.
fn behind_id3v2(contents: &[u8]) -> Result<usize> {
    let mut offset = 0;
    while let Some([b'I', b'D', b'3', _, _, flags, sizes @ ..]) =
        contents.get(offset..).and_then(<[u8]>::first_chunk::<10>)
    {
        let size = sizes.iter().fold(0, |size, byte| size << 7 | usize::from(byte & 0x7f));
        offset += 10 + size + if flags & 0x10 == 0 { 0 } else { 10 };
        if offset > contents.len() {
            let count = contents.len();
            return Err(damaged(format!(
                "an ID3 tag has {size} bytes, but the file has only {count}; it is cut short"
            )));
        }
    }
    Ok(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_detected_by_content() {
        assert_eq!(format(b"RIFF\0\0\0\0WAVE").unwrap(), Format::Wav);
        assert_eq!(format(b"ID3\x04\0\0\0\0\0\x02abfLaC").unwrap(), Format::Flac(12));
        assert_eq!(format(b"\0\0\xff\xfb\x90\x00").unwrap(), Format::Mp3(0));
        assert_eq!(format(b"OggS").unwrap(), Format::Ogg);
    }

    #[test]
    fn unsupported_formats_are_rejected_by_name() {
        for (bytes, text) in [
            (
                &b""[..],
                "the file is an empty file, expected WAV (PCM or float), FLAC, MP3, Ogg Vorbis or Ogg Opus. Convert",
            ),
            (b"FORM\0\0\0\0AIFF", "the file is AIFF, expected"),
            (b"\xff\xf1\x50", "the file is AAC in ADTS frames, expected"),
            (b"\xff\xfd\x50", "the file is MPEG layer 2 audio, expected"),
            (b"\x89PNG\r\n", "the file begins with b'\\x89PNG\\r\\n', which is not a known audio format, expected"),
            (
                b"version https://git-lfs.github.com/spec/v1\noid",
                "the file is a Git LFS pointer, not the file itself, expected",
            ),
            (b"ID3\x04\0\0\0\0\x02\0ab", "an ID3 tag has 256 bytes, but the file has only 12; it is cut short"),
        ] {
            let error = format(bytes).unwrap_err();
            assert!(error.message().starts_with(text), "{error}");
        }
    }
}
