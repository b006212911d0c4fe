//! A build without git is known by what it was made from.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../build/content.rs"]
mod content;

use std::{fs, path::Path};

/// A small workspace: manifests, sources, and what does not count.
fn workspace(root: &Path, source: &str) {
    for (name, text) in [
        ("Cargo.toml", "[workspace]"),
        ("Cargo.lock", "version = 4"),
        ("crates/a/Cargo.toml", "[package]"),
        ("crates/a/src/lib.rs", source),
        ("crates/a/src/deep/part.rs", "mod deep;"),
        ("crates/a/starts/first/experiment.toml", "[experiment]"),
    ] {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), text).unwrap();
    }
}

#[test]
fn sources_have_one_hash_wherever_they_lie() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    workspace(one.path(), "fn main() {}");
    workspace(other.path(), "fn main() {}");
    let hash = |dir: &tempfile::TempDir| content::hash(dir.path()).unwrap();
    let first = hash(&one);
    assert_eq!(first, hash(&other));
    // What builds and people leave beside the sources does not count.
    for name in ["target/debug/src/made.rs", ".git/src/x", "notes.txt", "crates/a/README.md"] {
        fs::create_dir_all(one.path().join(name).parent().unwrap()).unwrap();
        fs::write(one.path().join(name), "anything").unwrap();
    }
    assert_eq!(first, hash(&one));
    fs::write(one.path().join("Cargo.lock"), "version = 5").unwrap();
    assert_ne!(first, hash(&one), "another dependency");
    workspace(one.path(), "fn main() { }");
    assert_ne!(first, hash(&one), "a byte more");
    workspace(one.path(), "fn main() {}");
    assert_eq!(first, hash(&one));
    fs::write(one.path().join("crates/a/starts/first/experiment.toml"), "[model]").unwrap();
    assert_ne!(first, hash(&one), "another file that the program holds");
    workspace(one.path(), "fn main() {}");
    fs::rename(one.path().join("crates/a/src/deep/part.rs"), one.path().join("crates/a/src/deep/other.rs"))
        .unwrap();
    assert_ne!(first, hash(&one), "another name");
}
