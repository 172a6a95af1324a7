//! The program of every target. The name of the program selects the target.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| headrace_fuzz_targets::run(env!("CARGO_BIN_NAME"), data));
