//! Memory of this process: how much it can have, how much it has, and readers that stop where files outgrow it.
//!
//! A small packed file may unpack to terabytes, and what a reader keeps of a byte depends on the format. So nothing is predicted here: a [`Watched`] reader looks at
//! the process itself every mebibyte. The limit belongs to a thread and to the length of a call, [`within`]; without one
//! something is left to the machine.

use std::{
    cell::{Cell, RefCell},
    fs,
    io::{self, BufRead, Read},
    path::Path,
};

/// Bytes that are read between two looks.
const STEP: u64 = 1 << 20;

/// Bytes that are left where no limit is given.
const SPARE: u64 = 64 << 20;

thread_local! {
    static LIMIT: Cell<Option<u64>> = const { Cell::new(None) };
    /// Bytes until the next look, whichever files they are of.
    static LEFT: Cell<u64> = const { Cell::new(STEP) };
    static OUTGROWN: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Does something during which readers of this thread stop once the process has so many bytes more resident than now; and says in words if one did.
/// Within another such call the inner limit holds.
pub fn within<T>(limit: Option<u64>, work: impl FnOnce() -> T) -> (T, Option<String>) {
    OUTGROWN.take();
    let before = LIMIT.replace(limit.map(|bytes| resident().unwrap_or(0).saturating_add(bytes)));
    let done = work();
    LIMIT.set(before);
    (done, OUTGROWN.take())
}

/// A reader that fails where the process outgrows its limit.
pub struct Watched<R>(pub R);

/// Refuses to make so many bytes of a few words of a file, where this thread's process would outgrow its limit with them.
///
/// # Errors
/// If it would; the message says so, and [`within`] gives it.
pub fn takes(bytes: u64) -> Result<(), String> {
    let Some(has) = resident().filter(|_| bytes > STEP) else { return Ok(()) };
    let most = LIMIT.get().unwrap_or_else(|| has.saturating_add(available().unwrap_or(u64::MAX)));
    if has.saturating_add(bytes) <= most {
        return Ok(());
    }
    let (needs, left) = (rounded(bytes), rounded(most.saturating_sub(has)));
    let message =
        format!("what the file describes takes {needs} of memory, but only {left} more may be used");
    OUTGROWN.set(Some(message.clone()));
    Err(message)
}

/// Looks at the process, after so many bytes more, whether it has outgrown its limit.
fn passed(bytes: usize) -> io::Result<()> {
    let left = LEFT.get().saturating_sub(bytes as u64);
    LEFT.set(if left == 0 { STEP } else { left });
    if left > 0 {
        return Ok(());
    }
    let Some(has) = resident() else { return Ok(()) };
    let most = match LIMIT.get() {
        Some(limit) => limit,
        None => has.saturating_add(available().unwrap_or(u64::MAX)).saturating_sub(SPARE),
    };
    // Beyond a limit of the process there is no answer any more: a table that grows doubles. So a quarter of that is left.
    let own = of_process(&read("/proc/self/limits"), &read("/proc/self/status"));
    let most = own.map_or(most, |(left, limit)| most.min(has.saturating_add(left).saturating_sub(limit / 4)));
    if has <= most {
        return Ok(());
    }
    let (has, most) = (rounded(has), rounded(most));
    let message = format!("what was read so far takes {has} of memory, but only {most} may be used");
    OUTGROWN.set(Some(message.clone()));
    Err(io::Error::new(io::ErrorKind::OutOfMemory, message))
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        passed(read)?;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Watched<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        passed(0)?;
        self.0.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        LEFT.set(LEFT.get().saturating_sub(bytes as u64));
        self.0.consume(bytes);
    }
}

/// Bytes of this process that lie in memory; `None` where the system does not say.
#[must_use]
pub fn resident() -> Option<u64> {
    kilobytes(&read("/proc/self/status"), "VmRSS:")
}

/// A file of the system; nothing where there is none.
fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
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
#[must_use]
pub fn available() -> Option<u64> {
    let limits = [
        of_machine(&read("/proc/meminfo")),
        of_groups(&read("/proc/self/cgroup"), Path::new("/sys/fs/cgroup")),
        left_to_process(),
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

/// Bytes of address space that limits of this process leave it; none if there is no limit.
#[must_use]
pub fn left_to_process() -> Option<u64> {
    of_process(&read("/proc/self/limits"), &read("/proc/self/status")).map(|(left, _)| left)
}

/// What the limits of the process leave (`ulimit -v`, `ulimit -d`), by `/proc/self/limits` and `/proc/self/status`; and the limit that leaves so little.
fn of_process(limits: &str, status: &str) -> Option<(u64, u64)> {
    let soft = |name: &str| {
        let line = limits.lines().find_map(|l| l.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let left = |name, used| {
        let limit: u64 = soft(name)?;
        Some((limit.saturating_sub(kilobytes(status, used).unwrap_or(0)), limit))
    };
    let all = [left("Max address space", "VmSize:"), left("Max data size", "VmData:")];
    all.into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads all of it, by lines or by bytes, and keeps 16 bytes of each.
    fn keep(reader: impl BufRead, lines: bool) -> io::Result<usize> {
        let mut kept: Vec<u128> = Vec::new();
        if lines {
            for line in reader.split(b'\n') {
                kept.extend(line?.iter().map(|byte| u128::from(*byte)));
            }
            return Ok(kept.len());
        }
        for byte in reader.bytes() {
            kept.push(byte?.into());
        }
        Ok(kept.len())
    }

    #[test]
    fn readers_stop_where_the_process_outgrows_its_limit() {
        if resident().is_none() {
            return;
        }
        let endless =
            || io::BufReader::new(io::repeat(7).take(1 << 24).chain(io::repeat(b'\n').take(1 << 24)));
        for lines in [true, false] {
            let read = |limit| within(Some(limit), || keep(Watched(endless()), lines));
            let (read_all, said) = read(8 << 30);
            assert!(read_all.is_ok() && said.is_none(), "{said:?}");
            let (stopped, said) = read(64 << 20);
            assert_eq!(stopped.map_err(|e| e.kind()), Err(io::ErrorKind::OutOfMemory));
            assert!(said.is_some_and(|said| said.contains("only")), "it is said");
        }
        assert!(within(None, || ()).1.is_none());
    }

    #[test]
    fn the_least_limit_counts() {
        assert_eq!(of_machine("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max data size             unlimited            unlimited            bytes\n\
                      Max address space         1073741824           unlimited            bytes\n";
        let status = "VmSize:\t   524288 kB\nVmData:\t 1 kB\n";
        assert_eq!(of_process(limits, status), Some((512 << 20, 1 << 30)));
        assert_eq!(of_process(&limits.replace("1073741824", "unlimited"), status), None);
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
