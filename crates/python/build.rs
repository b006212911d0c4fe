//! Stamps the package with the revision it was built from, as the program is: each goes on with what the other left. Without git, or outside a
//! checkout, the stamp is empty. On macOS the names of the interpreter are found when it loads the library.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["HEAD", "index"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    println!("cargo::rustc-env=NETLOOM_REVISION={}", revision().unwrap_or_default());
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "macos") {
        println!("cargo::rustc-cdylib-link-arg=-undefined");
        println!("cargo::rustc-cdylib-link-arg=dynamic_lookup");
    }
}

/// Short hash of the revision, with `+` if tracked files differ from it.
fn revision() -> Option<String> {
    let hash = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { hash } else { hash + "+" })
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
