#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| headrace_fuzzed::run("disk_cache", data));
