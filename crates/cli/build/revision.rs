//! The revision that a library or program is built from: git's; of a published package the one that it was made from; else a hash of the sources.
//!
//! The command line and the Python package are stamped alike, so that each goes on with what the other left.

#[path = "content.rs"]
mod content;

use std::{fs, path::Path, process::Command};

/// Hands the revision to the compiler as `NETLOOM_REVISION`; empty if nothing is known. `folder` is where this file lies, from the package.
pub fn stamp(folder: &str) {
    println!("cargo::rerun-if-changed={folder}");
    let revision = checkout().or_else(package).or_else(sources).unwrap_or_default();
    println!("cargo::rustc-env=NETLOOM_REVISION={revision}");
}

/// Short hash of the revision, with `+` if tracked files differ from it; none if this is no checkout, or one of something else.
fn checkout() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    for name in ["HEAD", "index"] {
        println!("cargo::rerun-if-changed={}", git(&["rev-parse", "--git-path", name])?);
    }
    let hash = git(&["rev-parse", "--short=12", "HEAD"])?;
    // Status would refresh the index, which would seem a change and build all again.
    let changed = git(&["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { hash } else { hash + "+" })
}

/// The revision that a published package was made from, which Cargo puts into it.
fn package() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let hash: String =
        text.split("\"sha1\": \"").nth(1)?.chars().take_while(char::is_ascii_hexdigit).collect();
    println!("cargo::rerun-if-changed=.cargo_vcs_info.json");
    let hash = hash.get(..12)?.to_owned();
    Some(if text.contains("\"dirty\": true") { hash + "+" } else { hash })
}

/// A hash of the workspace's sources, or of this package's where there is no workspace.
fn sources() -> Option<String> {
    let root = if Path::new("../../Cargo.lock").exists() { Path::new("../..") } else { Path::new(".") };
    for part in ["Cargo.toml", "Cargo.lock", "crates"].map(|part| root.join(part)) {
        if part.exists() {
            println!("cargo::rerun-if-changed={}", part.display());
        }
    }
    Some(format!("content-{:016x}", content::hash(root).ok()?))
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
