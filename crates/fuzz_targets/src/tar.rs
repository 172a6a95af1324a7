//! Targets for tar archives of samples, and for indexes of token files.

use crate::file::File;
use crate::packed::Packed;
use crate::records::in_order_and_shuffled;
use bytes::Bytes;
use headrace_engine::tensor::dtype::DType;
use headrace_pipeline::formats::{DocumentIndex, Tar, TokenFile, Tokens, WindowSize, infer_tar, megatron_head};
use std::sync::Arc;

const BLOCK_BYTES: usize = 512;
const CHECKSUM: std::ops::Range<usize> = 148..156;
const SIZE: std::ops::Range<usize> = 124..136;

/// `[compression, options, archive...]`: reads an archive, with inferred and with fixed extensions.
/// If the lowest bit of the options is set, the checksums of its headers are corrected first.
pub fn tar(data: &[u8]) -> usize {
    let [compression, options, data @ ..] = data else { return 0 };
    let mut data = data.to_vec();
    if options & 1 == 1 {
        correct_checksums(&mut data);
    }
    let Some(packed) = Packed::new(*compression, data) else { return 0 };
    let Ok(file) = File::new(&packed.bytes) else { return 0 };
    let inferred = infer_tar(&file.file_provenance(), packed.codec).ok().flatten().unwrap_or_default();
    let fixed = [("jpg".to_owned(), Some(Bytes::new())), ("cls".to_owned(), None)];
    for extensions in [inferred.into_iter().map(|name| (name, None)).collect(), Arc::from(fixed)] {
        let tar = Tar { codec: packed.codec, extensions };
        in_order_and_shuffled(Arc::new(tar), &file, options & 2 == 2, packed.codec);
    }
    packed.num_bytes
}

/// Corrects the checksums of headers, as far as their sizes lead to another header.
fn correct_checksums(mut archive: &mut [u8]) {
    while let Some((header, rest)) = archive.split_at_mut_checked(BLOCK_BYTES) {
        header[CHECKSUM].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let size = header[SIZE].iter().filter(|byte| matches!(byte, b'0'..=b'7'));
        let size = size.fold(0_usize, |size, digit| size.saturating_mul(8).saturating_add(usize::from(digit - b'0')));
        let Some((_, rest)) = rest.split_at_mut_checked(size.next_multiple_of(BLOCK_BYTES)) else { return };
        archive = rest;
    }
}

/// `[options, file...]`: reads an index of Megatron, or of datatrove if the lowest bit of the
/// options is set. The other bits are the length of windows.
pub fn token_index(data: &[u8]) -> usize {
    let [options, data @ ..] = data else { return 0 };
    let Ok(file) = File::new(data) else { return 0 };
    let (file, is_datatrove) = (file.file_provenance(), options & 1 == 1);
    let (dtype, num_tokens, index) = if is_datatrove {
        let end = data.last_chunk().map_or(0, |end| u64::from_le_bytes(*end)).min(1 << 40);
        (DType::UInt16, end, DocumentIndex::Datatrove(file))
    } else {
        let Ok(head) = megatron_head(&file) else { return data.len() };
        (head.dtype, head.num_bytes / head.dtype.size() as u64, DocumentIndex::Megatron(file))
    };
    let Ok(tokens) = TokenFile::new(0, num_tokens, dtype, Some(&index)) else { return data.len() };
    let length = u64::from(options >> 1) + 1;
    let size = WindowSize { length, stride: length };
    if let Ok(tokens) = Tokens::new(dtype, size, vec![tokens], true) {
        let num_windows: u64 = tokens.counts().sum();
        assert_eq!(num_windows.saturating_mul(length).saturating_add(tokens.left_out()), num_tokens);
    }
    data.len()
}
