//! Compiles `shim.c` against the headers of the libjpeg-turbo that is linked.

fn main() {
    println!("cargo::rerun-if-changed=src/shim.c");
    let mut build = cc::Build::new();
    // turbojpeg-sys passes on its include directories, separated by commas.
    let include = std::env::var("DEP_TURBOJPEG_INCLUDE").expect("turbojpeg-sys names its headers");
    build.includes(include.split(','));
    build.file("src/shim.c").std("c11").warnings(true).extra_warnings(true).compile("headrace_jpeg_shim");
}
