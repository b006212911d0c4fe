//! Compiles `shim.c` with the compiler wrapper of the MPI that will be linked, and asks that wrapper what to link.

fn main() {
    println!("cargo::rerun-if-changed=src/shim.c");
    println!("cargo::rerun-if-env-changed=MPICC");
    #[cfg(feature = "link")]
    link::mpi();
}

#[cfg(feature = "link")]
mod link {
    use std::process::Command;

    pub(crate) fn mpi() {
        let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
        cc::Build::new().compiler(&mpicc).file("src/shim.c").warnings(true).compile("netloom_mpi");
        for word in shown(&mpicc) {
            if let Some(folder) = word.strip_prefix("-L") {
                println!("cargo::rustc-link-search=native={folder}");
                // Where the libraries lie now they are looked for later, unless the system finds them itself.
                if !folder.starts_with("/usr/lib") {
                    println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
                }
            } else if let Some(library) = word.strip_prefix("-l") {
                println!("cargo::rustc-link-lib=dylib={library}");
            }
        }
    }

    /// What the wrapper calls, as Open MPI, MPICH and their descendants show it.
    fn shown(mpicc: &str) -> Vec<String> {
        let output = Command::new(mpicc).arg("-show").output();
        let output = output.unwrap_or_else(|e| {
            panic!("the feature `mpi` needs MPI's compiler wrapper, and `{mpicc}` cannot be started: {e}; install MPI, or name it in MPICC")
        });
        assert!(
            output.status.success(),
            "`{mpicc} -show` failed: MPICC must name the compiler wrapper of an MPI"
        );
        String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned).collect()
    }
}
