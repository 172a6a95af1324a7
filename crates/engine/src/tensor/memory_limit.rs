//! The memory limit of this process: the machine's memory, or the limit of its control groups
//! (cgroups) if that is lower.
//!
//! Linux overcommits memory: a request that can never be met succeeds, and the process is killed
//! when it uses the memory. So each request is compared with this limit first.
//!
//! Source: `Documentation/admin-guide/cgroup-v1/memory.rst` and `cgroup-v2.rst` of Linux; `proc(5)`
//! for the files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The maximum memory that this process can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// The limit in bytes, or `u64::MAX` if it is unknown.
    pub num_bytes: u64,
    /// The origin of the limit, for messages.
    pub owner: &'static str,
}

const MACHINE: &str = "this machine";
const CGROUP: &str = "this process's control group (cgroup)";

/// The limit is unknown, as on systems without `/proc` such as macOS.
const UNLIMITED: MemoryLimit = MemoryLimit { num_bytes: u64::MAX, owner: MACHINE };

/// The limit. It is only read once.
pub fn memory_limit() -> MemoryLimit {
    static LIMIT: OnceLock<MemoryLimit> = OnceLock::new();
    *LIMIT.get_or_init(|| MemoryLimit::read(Path::new("/")))
}

impl MemoryLimit {
    /// Reads the limit of the system whose files are below `root`. Missing and malformed files
    /// impose no limit.
    fn read(root: &Path) -> Self {
        let (memory, swap) = machine(&read(root, "proc/meminfo"));
        let machine = Self { num_bytes: memory.saturating_add(swap), owner: MACHINE };
        let groups = directories(&read(root, "proc/self/cgroup"), &read(root, "proc/self/mountinfo"));
        let limits =
            groups.iter().map(|group| group.limit(root, swap)).map(|num_bytes| Self { num_bytes, owner: CGROUP });
        limits.fold(machine, |least, limit| if limit.num_bytes < least.num_bytes { limit } else { least })
    }
}

fn read(root: &Path, path: impl AsRef<Path>) -> String {
    fs::read_to_string(root.join(path)).unwrap_or_default()
}

/// The sizes of memory and swap space in bytes.
fn machine(meminfo: &str) -> (u64, u64) {
    let field = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    (field("MemTotal").unwrap_or(UNLIMITED.num_bytes), field("SwapTotal").unwrap_or(0))
}

/// A directory of the cgroup file system that limits the memory of this process.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    version: u8,
    directory: PathBuf,
}

impl Group {
    /// Returns the limit of the group. `swap` is the machine's swap space.
    fn limit(&self, root: &Path, swap: u64) -> u64 {
        let directory = self.directory.strip_prefix("/").unwrap_or(&self.directory);
        // "max" means no limit. Version 1 writes a number near 2**63 instead.
        let file = |name: &str| read(root, directory.join(name)).trim().parse().unwrap_or(u64::MAX);
        if self.version == 2 {
            return file("memory.max").saturating_add(swap.min(file("memory.swap.max")));
        }
        let memory = file("memory.limit_in_bytes").saturating_add(swap);
        memory.min(file("memory.memsw.limit_in_bytes")) // The limit of memory and swap space together.
    }
}

/// Returns the visible control groups of this process and their parents.
///
/// `cgroup` has the group of the process, and `mountinfo` lists the mount points. In a container,
/// the file system may begin at the process's own group although the name is the host's.
fn directories(cgroup: &str, mountinfo: &str) -> Vec<Group> {
    let mut groups = Vec::new();
    for line in mountinfo.lines() {
        let Some(mount) = Mount::parse(line) else { continue };
        let paths = cgroup.lines().filter_map(|line| group_path(line, mount.version));
        for path in paths {
            let inside = Path::new(path).strip_prefix(mount.root).unwrap_or(Path::new(""));
            let directory = mount.point.join(inside.strip_prefix("/").unwrap_or(inside));
            let nested = directory.ancestors().take_while(|directory| directory.starts_with(&mount.point));
            groups.extend(nested.map(|directory| Group { version: mount.version, directory: directory.to_owned() }));
        }
    }
    groups
}

/// Parses the path of a group from a line `NUMBER:CONTROLLERS:PATH`. Returns `None` if the group
/// does not control memory.
fn group_path(line: &str, version: u8) -> Option<&str> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    match version {
        2 => controllers.is_empty().then_some(path),
        _ => controllers.split(',').any(|controller| controller == "memory").then_some(path),
    }
}

/// The mount point of a part of a cgroup file system.
struct Mount<'a> {
    version: u8,
    /// The path of the part's topmost group.
    root: &'a str,
    point: PathBuf,
}

impl<'a> Mount<'a> {
    /// Parses a line of `mountinfo`. Returns `None` for other file systems and for groups of other
    /// controllers.
    fn parse(line: &'a str) -> Option<Self> {
        let (position, kind) = line.split_once(" - ")?;
        let mut position = position.split(' ').skip(3);
        let (root, point) = (position.next()?, position.next()?);
        let (kind, options) = (kind.split(' ').next()?, kind.split(' ').next_back()?);
        let version = match kind {
            "cgroup2" => 2,
            "cgroup" if options.split(',').any(|option| option == "memory") => 1,
            _ => return None,
        };
        Some(Self { version, root, point: PathBuf::from(point) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:       1000 kB\nMemFree:         10 kB\nSwapTotal:       24 kB\n";
    const V2: &str = "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1: &str = "31 23 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";

    /// The limit of a system with these files.
    fn limit(name: &str, files: &[(&str, &str)]) -> MemoryLimit {
        let root = std::env::temp_dir().join(format!("headrace_memory_limit_{name}_{}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let limit = MemoryLimit::read(&root);
        let _ = fs::remove_dir_all(&root);
        limit
    }

    fn of_cgroup(num_bytes: u64) -> MemoryLimit {
        MemoryLimit { num_bytes, owner: CGROUP }
    }

    #[test]
    fn limit_without_cgroups_is_the_memory_and_swap_of_the_machine() {
        let expected = MemoryLimit { num_bytes: 1024 * 1024, owner: MACHINE };
        assert_eq!(limit("machine", &[("proc/meminfo", MEMINFO)]), expected);
        let files = [("proc/meminfo", MEMINFO), ("proc/self/cgroup", "0::/\n"), ("proc/self/mountinfo", V2)];
        assert_eq!(limit("no_files", &files), expected);
    }

    #[test]
    fn missing_or_malformed_files_are_ignored() {
        assert_eq!(limit("nothing", &[]), UNLIMITED);
        assert_eq!(limit("nonsense", &[("proc/meminfo", "MemTotal: many kB\nSwapTotal\n")]), UNLIMITED);
    }

    #[test]
    fn smallest_limit_of_nested_groups_applies() {
        let files = [
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", "0::/a/b/c\n"),
            ("proc/self/mountinfo", V2),
            ("sys/fs/cgroup/a/memory.max", "400000\n"),
            ("sys/fs/cgroup/a/memory.swap.max", "0\n"),
            ("sys/fs/cgroup/a/b/memory.max", "300000\n"),
            ("sys/fs/cgroup/a/b/memory.swap.max", "7\n"),
            ("sys/fs/cgroup/a/b/c/memory.max", "max\n"),
        ];
        assert_eq!(limit("nested", &files), of_cgroup(300_007));
    }

    #[test]
    fn cgroup_v1_limits_include_swap() {
        let files = |name, memory, both| {
            let files = [
                ("proc/meminfo", MEMINFO),
                ("proc/self/cgroup", "4:memory:/job\n1:cpu:/other\n0::/\n"),
                ("proc/self/mountinfo", V1),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", memory),
                ("sys/fs/cgroup/memory/job/memory.memsw.limit_in_bytes", both),
            ];
            limit(name, &files)
        };
        assert_eq!(files("v1", "300000\n", "9223372036854771712\n"), of_cgroup(300_000 + 24 * 1024));
        assert_eq!(files("v1_swap", "300000\n", "300000\n"), of_cgroup(300_000));
    }

    #[test]
    fn cgroup_can_be_mounted_elsewhere_in_a_container() {
        let files = [
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", "4:memory:/docker/0123\n"),
            ("proc/self/mountinfo", "35 31 0:32 /docker/0123 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n"),
        ];
        assert_eq!(limit("container", &files), of_cgroup(5000 + 24 * 1024));
    }

    #[test]
    fn current_system_has_a_limit() {
        if cfg!(target_os = "linux") {
            assert!(memory_limit().num_bytes < 1 << 50, "{:?}", memory_limit());
        }
    }
}
