//! The program of every target: its name is that of the program.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| headrace_fuzz_targets::run(env!("CARGO_BIN_NAME"), data));
