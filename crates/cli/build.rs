//! Stamps the binary with the revision it was built from: git's; of a published package the one that it was made from; else a hash of the
//! sources. Where the linker can, functions of the same code become one, which makes the binary smaller.

#[path = "build/revision.rs"]
mod revision;

use std::{env, path::Path, process::Command};

/// Folds functions of the same code: LLVM's linker, Rust's own on Linux, knows the word, and GNU's does not.
const FOLD: &str = "-Wl,--icf=all";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    revision::stamp("build");
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
