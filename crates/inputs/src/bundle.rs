//! Inputs of several files in one: as `head` prints them, each behind a line `==> NAME <==`.

use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Most files of an input.
const MOST: usize = 16;

/// Name of the only file of an input that names none.
const ONLY: &str = "input";

/// A folder for the files of one input after another.
pub struct Scratch(TempDir);

impl Scratch {
    /// A new folder, which vanishes with this value.
    ///
    /// # Panics
    /// If the directory for temporary files takes none.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it makes a directory")]
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("the directory for temporary files takes a folder"))
    }

    /// Where the files lie.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Writes the files of an input in place of those of the one before, and gives their paths: one at least.
    ///
    /// # Panics
    /// If they cannot be written.
    pub fn fill(&mut self, input: &[u8]) -> Vec<PathBuf> {
        for entry in fs::read_dir(self.folder()).expect("the folder is ours").flatten() {
            let path = entry.path();
            let gone = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            gone.expect("the folder is ours");
        }
        let parts = parts(input);
        let parts = if parts.is_empty() { vec![(ONLY, input)] } else { parts };
        let mut paths = Vec::new();
        for (name, bytes) in parts {
            let path = self.folder().join(name);
            // Not if another file has this name already as a folder, or the other way round: that is no fault of a reader.
            let folder = fs::create_dir_all(path.parent().expect("it is in the folder"));
            if folder.is_ok() && fs::write(&path, bytes).is_ok() {
                paths.push(path);
            }
        }
        paths.dedup();
        paths
    }
}

/// The files in an input; none if it does not begin with a name.
fn parts(input: &[u8]) -> Vec<(&str, &[u8])> {
    let mut found = Vec::new();
    let mut rest = input;
    while let Some((name, after)) = head(rest).filter(|_| found.len() < MOST) {
        let end = (0..after.len())
            .find(|&n| after[n] == b'\n' && head(&after[n + 1..]).is_some())
            .unwrap_or(after.len());
        found.push((name, &after[..end]));
        rest = after.get(end + 1..).unwrap_or(&[]);
    }
    found
}

/// The name in the line that a file begins with, and what follows the line. Names lead nowhere but into the folder, at most one folder deep.
fn head(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let line = bytes.strip_prefix(b"==> ")?;
    let end = line.iter().take(48).position(|&b| b == b'\n')?;
    let name = std::str::from_utf8(line[..end].strip_suffix(b" <==")?).ok()?;
    let plain = |word: &str| {
        !word.is_empty()
            && !word.starts_with('.')
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    let words: Vec<&str> = name.split('/').collect();
    (words.len() <= 2 && words.iter().all(|word| plain(word))).then_some((name, &line[end + 1..]))
}

/// Files as one input, the one that is read by its name first.
#[must_use]
pub fn bundle(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut all = Vec::new();
    for (name, bytes) in files {
        if !all.is_empty() {
            all.push(b'\n');
        }
        all.extend_from_slice(format!("==> {name} <==\n").as_bytes());
        all.extend_from_slice(bytes);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_as_they_were() {
        let files: &[(&str, &[u8])] = &[("a.txt", b"one\n\n"), ("t/0.evt", &[0, 1, 10, 61]), ("b", b"")];
        assert_eq!(parts(&bundle(files)), files);
        assert_eq!(parts(b"no name\n==> a <==\n"), []);
        for escape in ["../a", "/a", "a/../b", ".a", "a/b/c", "", "a\\b"] {
            assert_eq!(parts(format!("==> {escape} <==\nx").as_bytes()), [], "{escape}");
        }
        let mut scratch = Scratch::new();
        assert_eq!(scratch.fill(&bundle(files)).len(), 3);
        // A file is no folder, and a folder no file.
        for names in [["a", "a/b"], ["a/b", "a"]] {
            assert_eq!(scratch.fill(&bundle(&names.map(|name| (name, &b"x"[..])))).len(), 1);
        }
        let only = scratch.fill(b"text");
        assert_eq!(fs::read(&only[0]).ok().as_deref(), Some(&b"text"[..]));
        assert_eq!(fs::read_dir(scratch.folder()).map(Iterator::count).ok(), Some(1));
    }
}
