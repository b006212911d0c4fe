//! That `cargo test` builds the library, and that Python would find its module in it. What it does is tested in Python (`test.sh`).

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};

#[test]
fn the_library_holds_the_module() {
    // Beside this program: what only tests need is not put one folder up.
    let here = std::env::current_exe().expect("a program has a path");
    let path = here.with_file_name(format!("{DLL_PREFIX}netloom_python{DLL_SUFFIX}"));
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let entry = b"PyInit__netloom";
    assert!(bytes.windows(entry.len()).any(|part| part == entry), "{} exports no module", path.display());
}
