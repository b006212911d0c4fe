//! Stamps the binary with the revision it was built from: git's; of a published package the one that it was made from; else a hash of the
//! sources. Where the linker can, functions of the same code become one, which makes the binary smaller.

#[path = "build/content.rs"]
mod content;

use std::{env, fs, path::Path, process::Command};

/// Folds functions of the same code: LLVM's linker, Rust's own on Linux, knows the word, and GNU's does not.
const FOLD: &str = "-Wl,--icf=all";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build/content.rs");
    let revision = checkout().or_else(package).or_else(sources).unwrap_or_default();
    println!("cargo::rustc-env=NETLOOM_REVISION={revision}");
    if folds().unwrap_or(false) {
        println!("cargo::rustc-link-arg-bins={FOLD}");
    }
}

/// True if an empty program can be linked with the word, by the compiler and with the flags that build the binary.
fn folds() -> Option<bool> {
    let target = env::var("TARGET").ok()?;
    if !target.contains("linux") {
        return None;
    }
    let folder = env::var("OUT_DIR").ok()?;
    let source = Path::new(&folder).join("empty.rs");
    std::fs::write(&source, "fn main() {}").ok()?;
    let mut rustc = Command::new(env::var_os("RUSTC")?);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    rustc.arg(format!("-Clink-arg={FOLD}")).args([
        "--edition=2024",
        "--target",
        &target,
        "--out-dir",
        &folder,
    ]);
    Some(rustc.arg(&source).output().ok()?.status.success())
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
