//! Memory: how much may be used, and what does not fit.

use crate::{
    error::{Error, ErrorKind},
    options::MemoryLimit,
};
use std::{fs, path::Path};

/// The limit in bytes; `None` if there is none or the machine does not say.
#[must_use]
pub fn limit_in_bytes(limit: Option<MemoryLimit>) -> Option<u64> {
    match limit {
        Some(MemoryLimit::None) => None,
        Some(MemoryLimit::Bytes(bytes)) => Some(bytes),
        None => available_memory(),
    }
}

/// Refuses what needs more memory than may be used.
///
/// # Errors
/// If it needs more.
pub fn fits(what: &str, bytes: u64, limit: Option<u64>) -> Result<(), Error> {
    match limit {
        Some(limit) if bytes > limit => {
            let (needs, has) = (rounded(bytes), rounded(limit));
            let message = format!("{what} may need {needs} of memory, but only {has} may be used");
            let help =
                "choose something smaller; `netloom run` takes --memory-limit SIZE or --memory-limit none";
            Err(Error::new(ErrorKind::Limit, message).with_help(help))
        }
        _ => Ok(()),
    }
}

/// Bytes with one decimal, for people.
#[must_use]
pub fn rounded(bytes: u64) -> String {
    for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >> shift > 0 {
            let tenths = (u128::from(bytes) * 10 + (1 << (shift - 1))) >> shift;
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
    }
    format!("{bytes} B")
}

/// Memory that this process can have: the least of what the machine can give without swapping, of what its control groups leave, and of its own
/// limits. `None` where nothing of it is known.
fn available_memory() -> Option<u64> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let limits = [
        read(Path::new("/proc/meminfo")).and_then(|text| of_machine(&text)),
        read(Path::new("/proc/self/cgroup")).and_then(|text| of_groups(&text, Path::new("/sys/fs/cgroup"))),
        read(Path::new("/proc/self/limits")).zip(read(Path::new("/proc/self/status"))).and_then(of_process),
    ];
    limits.into_iter().flatten().min()
}

/// What `/proc/meminfo` says is available.
fn of_machine(text: &str) -> Option<u64> {
    kilobytes(text, "MemAvailable:")
}

/// A line of the form `NAME  123 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// What the control groups of `/proc/self/cgroup` leave: the least over each and all above it, of version 2 (`0::/path`) and of version 1
/// (`4:memory:/path`), mounted at `root`.
fn of_groups(text: &str, root: &Path) -> Option<u64> {
    let number = |path: std::path::PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let mut least = None;
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(kinds), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (mount, limit, used) = match kinds {
            "" => (root.to_owned(), "memory.max", "memory.current"),
            _ if kinds.split(',').any(|kind| kind == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => continue,
        };
        // In a container the path is one of the host, and the group's own files lie at the mount: those that are there count.
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            let group = mount.join(group);
            if let Some(limit) = number(group.join(limit)) {
                let left = limit.saturating_sub(number(group.join(used)).unwrap_or(0));
                least = Some(least.map_or(left, |least: u64| least.min(left)));
            }
        }
    }
    least
}

/// What the limits of the process leave (`ulimit -v`, `ulimit -d`), by `/proc/self/limits` and `/proc/self/status`.
fn of_process((limits, status): (String, String)) -> Option<u64> {
    let soft = |name: &str| {
        let line = limits.lines().find_map(|l| l.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let left = |name, used| Some(soft(name)?.saturating_sub(kilobytes(&status, used).unwrap_or(0)));
    let all = [left("Max address space", "VmSize:"), left("Max data size", "VmData:")];
    all.into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_counts() {
        assert_eq!(of_machine("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max data size             unlimited            unlimited            bytes\n\
                      Max address space         1073741824           unlimited            bytes\n";
        let status = "VmSize:\t   524288 kB\nVmData:\t 1 kB\n";
        assert_eq!(of_process((limits.to_owned(), status.to_owned())), Some(512 << 20));
        assert_eq!(of_process((limits.replace("1073741824", "unlimited"), status.to_owned())), None);
    }

    #[test]
    fn control_groups_of_both_versions_are_heeded() {
        let root = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("user/job/memory.max", "max\n");
        put("user/memory.max", "1000\n");
        put("user/memory.current", "400\n");
        assert_eq!(of_groups("0::/user/job\n", root.path()), Some(600));
        put("memory/batch/memory.limit_in_bytes", "500\n");
        put("memory/batch/memory.usage_in_bytes", "600\n");
        assert_eq!(of_groups("5:cpu,cpuacct:/\n4:memory:/batch\n0::/user\n", root.path()), Some(0));
        // The path of the host means nothing in a container: the mount itself does.
        put("memory.max", "77\n");
        assert_eq!(of_groups("0::/elsewhere/of/the/host\n", root.path()), Some(77));
        assert_eq!(of_groups("garbage\n1:name=systemd:/\n", root.path()), None);
    }
}
