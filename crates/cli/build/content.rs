//! The revision of a build without git: a hash of what it is made from, the same wherever the sources lie.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Folders with sources, with what is built into the program, or with what its build scripts are made of.
const FOLDERS: [&str; 5] = ["src", "starts", "studies", "include", "build"];

/// Hash (FNV-1a, 64 bits) of all that a build reads below `root`, with its name: manifests, the lock file, and files in [`FOLDERS`].
///
/// It tells builds apart that differ by accident; who wants to can make two that do not.
pub fn hash(root: &Path) -> io::Result<u64> {
    let mut files = Vec::new();
    gather(root, Path::new(""), &mut files)?;
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut put = |bytes: &[u8]| {
        for &byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for name in &files {
        // The names' separators differ between systems, the names do not.
        let parts: Vec<_> = name.components().map(|c| c.as_os_str().to_string_lossy()).collect();
        put(parts.join("/").as_bytes());
        put(&fs::read(root.join(name))?);
    }
    Ok(hash)
}

/// Names below `root` of what counts; hidden folders and what builds make do not.
fn gather(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = folder.join(entry.file_name());
        let is_named = |names: &[&str]| names.iter().any(|n| *entry.file_name() == **n);
        if entry.file_type()?.is_dir() {
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            if !hidden && !is_named(&["target"]) {
                gather(root, &name, files)?;
            }
        } else if is_named(&["Cargo.toml", "Cargo.lock", "build.rs"])
            || folder.components().any(|c| FOLDERS.iter().any(|name| c.as_os_str() == *name))
        {
            files.push(name);
        }
    }
    Ok(())
}
