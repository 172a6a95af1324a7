//! One function for each parser of the engine. Each accepts any bytes: fuzzers call it with
//! generated inputs, and a normal test with the files in `fuzz/corpus`. It must not panic, and its
//! memory must stay below a multiple of the input.

mod checkpoints;
mod claims;
mod examples;
mod file;
mod images;
mod index;
mod kernels;
mod packed;
mod pipelines;
mod records;
mod saved;
mod sound;
mod tables;
mod tar;
mod tensors;
mod video;
mod zip;

pub use kernels::place_files;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The additional memory of targets that read files, for blocks and the tables of a decompressor.
const FILE_BYTES: usize = 8 << 20;
/// The additional memory of targets that read tables, which allocate the claimed size of pages, and
/// of WebP, whose groups of codes each have tables.
const TABLE_BYTES: usize = 64 << 20;
/// The additional memory of other targets.
const PARSER_BYTES: usize = 512 << 10;

/// One target.
pub struct Target {
    /// Its name, which is also the name of its corpus and its fuzzer.
    pub name: &'static str,
    /// Passes bytes to the parser. Returns the number of bytes after decompression or decoding.
    body: fn(&[u8]) -> usize,
    /// The memory limit for Rust code is this multiple of the target's bytes,
    times: usize,
    /// plus this many bytes.
    besides: usize,
}

/// All targets.
pub const TARGETS: [Target; 26] = [
    Target { name: "tfrecord", body: records::tfrecord, times: 16, besides: FILE_BYTES },
    Target { name: "lines", body: records::lines, times: 16, besides: FILE_BYTES },
    Target { name: "compressed", body: packed::compressed_data, times: 16, besides: FILE_BYTES },
    Target { name: "example", body: examples::example, times: 64, besides: PARSER_BYTES },
    Target { name: "sequence_example", body: examples::sequence_example, times: 64, besides: PARSER_BYTES },
    Target { name: "tensor_proto", body: tensors::tensor_proto, times: 64, besides: PARSER_BYTES },
    Target { name: "csv", body: tables::csv, times: 16, besides: FILE_BYTES },
    Target { name: "json_lines", body: tables::json_lines, times: 16, besides: FILE_BYTES },
    Target { name: "json_array", body: tables::json_array, times: 16, besides: FILE_BYTES },
    Target { name: "parquet", body: tables::typed::parquet, times: 16, besides: TABLE_BYTES },
    Target { name: "arrow", body: tables::typed::arrow, times: 16, besides: TABLE_BYTES },
    Target { name: "disk_cache", body: saved::disk_cache, times: 64, besides: FILE_BYTES },
    Target { name: "index", body: index::index, times: 16, besides: FILE_BYTES },
    Target { name: "tar", body: tar::tar, times: 16, besides: FILE_BYTES },
    Target { name: "zip", body: zip::zip, times: 16, besides: FILE_BYTES },
    Target { name: "token_index", body: tar::token_index, times: 16, besides: FILE_BYTES },
    Target { name: "jpeg", body: images::jpeg, times: 8, besides: PARSER_BYTES },
    Target { name: "png", body: images::png, times: 8, besides: PARSER_BYTES },
    Target { name: "gif", body: images::gif, times: 8, besides: PARSER_BYTES },
    Target { name: "bmp", body: images::bmp, times: 8, besides: PARSER_BYTES },
    Target { name: "sound", body: sound::sound, times: 8, besides: TABLE_BYTES },
    Target { name: "webp", body: images::webp, times: 8, besides: TABLE_BYTES },
    Target { name: "tiff", body: images::tiff, times: 8, besides: PARSER_BYTES },
    Target { name: "video", body: video::video, times: 128, besides: PARSER_BYTES },
    Target { name: "saved", body: saved::saved, times: 64, besides: PARSER_BYTES },
    Target { name: "pipeline_checkpoints", body: checkpoints::checkpoints, times: 16, besides: FILE_BYTES },
];

impl Target {
    /// Passes bytes to the parser without measuring memory. Panics if the parser panics.
    pub fn parse(&self, data: &[u8]) {
        (self.body)(data);
    }

    /// Passes bytes to the parser. Panics if the parser panics or uses too much memory.
    pub fn run(&self, data: &[u8]) {
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let num_bytes = (self.body)(data);
        let taken = MEMORY.peak_usage().saturating_sub(before);
        let limit = self.times * num_bytes + self.besides;
        assert!(
            taken <= limit,
            "{}: {taken} bytes of memory for {num_bytes} bytes, expected at most {limit}",
            self.name
        );
    }
}

/// Runs the target with this name.
///
/// # Panics
///
/// If there is no such target, or if the parser panics or uses too much memory.
pub fn run(name: &str, data: &[u8]) {
    match TARGETS.iter().find(|target| target.name == name) {
        Some(target) => target.run(data),
        None => panic!("no target is named {name}"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    #[should_panic(expected = "no target is named weather")]
    fn unknown_target_is_rejected() {
        super::run("weather", b"");
    }
}
