//! Reading small input files whole: never a device that has no end, never more than a bound.

use std::{fs::File, io, io::Read, path::Path};

/// Largest file that is read whole.
const MOST: u64 = 1 << 30;

/// Flag of `open` by which a kernel's log with nothing new is an error at once instead of a wait without end. Other regular files ignore it.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
const DO_NOT_WAIT: i32 = 0o4000;
#[cfg(all(
    unix,
    not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
    ))
))]
const DO_NOT_WAIT: i32 = 0;

/// Opens a file to read it. A named FIFO without a writer would keep us for ever, so one is refused; a shell's `<(command)` is none.
///
/// # Errors
/// If it cannot be opened, or is a FIFO.
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    let path = path.as_ref();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
        let of_shell = is_opened(path, &["/dev/stdin"]);
        let kind = std::fs::metadata(path)?.file_type();
        if !of_shell && kind.is_fifo() {
            return Err(io::Error::other(
                "it is a FIFO: give a file, or `-` for standard input where it is taken",
            ));
        }
        if !of_shell && kind.is_file() {
            return File::options().read(true).custom_flags(DO_NOT_WAIT).open(path);
        }
    }
    File::open(path)
}

/// True for what a shell or a parent has opened already, under the names of descriptors or these.
#[cfg(unix)]
fn is_opened(path: &Path, streams: &[&str]) -> bool {
    ["/dev/fd/", "/proc/self/fd/"].iter().chain(streams).any(|name| path.starts_with(name))
}

/// True for a named FIFO: to write one waits for its reader, for ever if there is none. A shell's `>(command)` has one.
///
/// # Errors
/// If there is nothing of this name.
pub fn waits_for_reader(path: impl AsRef<Path>) -> io::Result<bool> {
    let path = path.as_ref();
    let kind = std::fs::metadata(path)?.file_type();
    #[cfg(unix)]
    let waits =
        std::os::unix::fs::FileTypeExt::is_fifo(&kind) && !is_opened(path, &["/dev/stdout", "/dev/stderr"]);
    #[cfg(not(unix))]
    let waits = {
        let _ = kind;
        false
    };
    Ok(waits)
}

/// The bytes of a file.
///
/// # Errors
/// If it cannot be read, is no regular file, or has more than a GiB.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    bounded(regular(path)?)
}

fn bounded(file: File) -> io::Result<Vec<u8>> {
    let large = || io::Error::other("it has more than 1 GiB");
    if file.metadata()?.len() > MOST {
        return Err(large());
    }
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST { Err(large()) } else { Ok(bytes) }
}

/// The text of a file, or of a shell's `<(command)`.
///
/// # Errors
/// As [`read`], and if it is no UTF-8 text.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    let file = open(path)?;
    let kind = file.metadata()?.file_type();
    // Only a shell's were opened.
    #[cfg(unix)]
    let piped = std::os::unix::fs::FileTypeExt::is_fifo(&kind);
    #[cfg(not(unix))]
    let piped = false;
    if !kind.is_file() && !piped {
        return Err(not_regular());
    }
    String::from_utf8(bounded(file)?).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.utf8_error()))
}

fn not_regular() -> io::Error {
    io::Error::other("it is not a regular file")
}

/// Opens a file of our own, of any size: neither a FIFO nor a device is one.
///
/// # Errors
/// If it cannot be opened, or is no regular file.
pub fn regular(path: impl AsRef<Path>) -> io::Result<File> {
    let file = open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_what_is_none_is_refused() {
        let path = std::env::temp_dir().join(format!("netloom-input-{}", std::process::id()));
        assert!(std::fs::write(&path, b"abc").is_ok());
        assert_eq!(read(&path).ok().as_deref(), Some(&b"abc"[..]));
        assert!(std::fs::remove_file(&path).is_ok());
        assert!(read(&path).is_err() && read(std::env::temp_dir()).is_err());
        #[cfg(unix)]
        assert!(open("/dev/zero").is_ok() && open("/dev/nowhere").is_err());
        #[cfg(unix)]
        assert!(read("/dev/zero").is_err_and(|e| e.to_string().contains("regular")));
    }

    /// A file that waits for news must not be waited for: the kernel's own note of the open file says that it is not.
    #[cfg(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
    ))]
    #[test]
    fn a_regular_file_is_opened_without_waiting() {
        use std::os::fd::AsRawFd;
        let waits = |file: &File| {
            let note = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).ok();
            let flags = note.as_deref().and_then(|n| n.lines().find_map(|l| l.strip_prefix("flags:")));
            flags.and_then(|f| i32::from_str_radix(f.trim(), 8).ok()).map(|f| f & DO_NOT_WAIT == 0)
        };
        let (ours, plain) = (open("Cargo.toml"), File::open("Cargo.toml"));
        assert_eq!(ours.as_ref().ok().and_then(waits), Some(false));
        assert_eq!(plain.as_ref().ok().and_then(waits), Some(true));
    }
}
