//! Opens files in a directory where others may have placed symbolic links.

use std::fs::OpenOptions;

/// Makes opening fail if the path is a symbolic link.
pub fn without_link(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(target_os = "linux")]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    options
}
