//! Stamps the binary with the revision it was built from. Without git, or outside a checkout, the stamp is empty:
//! a build never fails for it. Where the linker can, functions of the same code become one, which makes the binary smaller.

use std::{env, path::Path, process::Command};

/// Folds functions of the same code: LLVM's linker, Rust's own on Linux, knows the word, and GNU's does not.
const FOLD: &str = "-Wl,--icf=all";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["HEAD", "index"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    println!("cargo::rustc-env=NETLOOM_REVISION={}", revision().unwrap_or_default());
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

/// Short hash of the revision, with `+` if tracked files differ from it.
fn revision() -> Option<String> {
    let hash = git(&["rev-parse", "--short=12", "HEAD"])?;
    // Status would refresh the index, which would seem a change and build all again.
    let changed = git(&["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { hash } else { hash + "+" })
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
