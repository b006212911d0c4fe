//! Stamps the package with the revision it was built from, as the program is: each goes on with what the other left. On macOS the names of
//! the interpreter are found when it loads the library.

#[path = "../cli/build/revision.rs"]
mod revision;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    revision::stamp("../cli/build");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "macos") {
        println!("cargo::rustc-cdylib-link-arg=-undefined");
        println!("cargo::rustc-cdylib-link-arg=dynamic_lookup");
    }
}
