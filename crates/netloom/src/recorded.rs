//! Recorded traces, written with the times at which they were recorded: OTF2 archives and Paraver's files.

use crate::{
    error::{Error, ErrorKind},
    ours,
    part_file::{PartFile, unwritable},
};
use std::{
    fs,
    path::{Path, PathBuf},
};
use workload::program::{Damage, archive, mpi::Script, ranks::WriteError};

/// Name of an archive's anchor file.
const ANCHOR: &str = "traces.otf2";

/// A folder that is removed at the end, unless it was renamed before.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes an archive into a folder.
fn write(script: &dyn Script, folder: &Path) -> Result<Vec<String>, Error> {
    archive::write(script, folder).map_err(|e| match e {
        WriteError::Io(e) => unwritable(folder, &e),
        WriteError::Damage(Damage(message)) => Error::new(ErrorKind::Input, message),
    })
}

/// Writes an archive by the name of its anchor, `FOLDER/traces.otf2`; the folder is made. Gives what it says otherwise than the calls do.
///
/// # Errors
/// If the anchor is called otherwise, the folder is there with something in it, a call has no time or no words, or the archive cannot be written.
pub(crate) fn otf2(script: &dyn Script, anchor: &Path) -> Result<Vec<String>, Error> {
    let folder = anchor.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder =
        folder.filter(|_| anchor.file_name().is_some_and(|name| name == ANCHOR)).ok_or_else(|| {
            let message = format!(
                "`{}` is no archive: its anchor is `{ANCHOR}` in a folder of its own",
                anchor.display()
            );
            Error::new(ErrorKind::Usage, message)
                .with_help(format!("write `FOLDER/{ANCHOR}`; the folder is made"))
        })?;
    let _claim = ours::claim(folder)?;
    let taken = |_| Error::new(ErrorKind::Output, format!("`{}` exists already", folder.display()));
    // An empty folder may be there.
    if folder.exists() {
        fs::remove_dir(folder).map_err(taken)?;
    }
    let part = Scratch(folder.with_added_extension("part"));
    fs::create_dir_all(&part.0).map_err(|e| unwritable(&part.0, &e))?;
    let notes = write(script, &part.0)?;
    fs::rename(&part.0, folder).map_err(|e| unwritable(folder, &e))?;
    Ok(notes)
}

/// Writes Paraver's three files by the name of the first, `NAME.prv`. Gives what they say otherwise than the calls do.
///
/// # Errors
/// If a file exists and may not be replaced, a call has no time or no words, or a file cannot be written.
pub(crate) fn paraver(script: &dyn Script, out: &Path, force: bool) -> Result<Vec<String>, Error> {
    let files = ["prv", "pcf", "row"].map(|end| out.with_extension(end));
    let parts = files.iter().map(|file| PartFile::new(file, force)).collect::<Result<Vec<_>, _>>()?;
    let scratch = Scratch(out.with_added_extension("part-otf2"));
    fs::create_dir(&scratch.0).map_err(|e| unwritable(&scratch.0, &e))?;
    let mut notes = write(script, &scratch.0)?;
    let name = out.file_stem().map_or_else(|| "trace".into(), |name| name.to_string_lossy());
    let found = results::recorded::tables(&scratch.0.join(ANCHOR), &name)
        .map_err(|e| Error::new(ErrorKind::Input, e.to_string()))?;
    if found.unmatched > 0 {
        notes.push(format!("messages without their other end were left out: {}", found.unmatched));
    }
    notes.push(
        "collectives and tags are not in Paraver's files, and times are rounded to nanoseconds".to_owned(),
    );
    let made = results::paraver_out::files(&found.operations, &found.transfers, None);
    for ((part, file), (_, text)) in parts.into_iter().zip(&files).zip(made) {
        fs::write(part.part(), text).map_err(|e| unwritable(file, &e))?;
        part.keep().map_err(|e| unwritable(file, &e))?;
    }
    Ok(notes)
}
