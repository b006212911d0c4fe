//! The reader of this target's name meets what libFuzzer makes: see `crates/inputs`. Inputs are sealed first, so that what lies behind check sums is reached.
//! All targets are this program under other names; it looks at its own.
//!
//! `cargo +nightly fuzz run NAME`; all of them: `fuzz/run.sh SECONDS`

#![no_main]

use inputs::{Reader, Scratch};
use libfuzzer_sys::fuzz_target;
use std::{cell::RefCell, env, fs, path::PathBuf, sync::LazyLock};

static READER: LazyLock<&Reader> = LazyLock::new(|| {
    let program = PathBuf::from(env::args_os().next().expect("a program has a name"));
    Reader::named(&program.file_name().expect("it is a file").to_string_lossy())
});

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new());
}

fuzz_target!(
    init: {
        // What only this build can make joins the first corpus that is named, called as if libFuzzer had found it.
        let corpus = env::args_os().skip(1).map(PathBuf::from).find(|path| path.is_dir());
        for (number, bytes) in corpus.iter().flat_map(|_| (READER.made)()).enumerate() {
            fs::write(corpus.as_ref().expect("there is one").join(format!("{number:040}")), bytes).expect("a corpus can be added to");
        }
    },
    |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        if let Some(seal) = READER.seal {
            seal(&mut bytes);
        }
        SCRATCH.with_borrow_mut(|scratch| READER.check(scratch, &bytes));
    }
);
