//! An archive for reading.

use crate::{
    Anchor, Error, Result,
    chunks::Chunks,
    definitions::Definitions,
    events::Events,
    local::Local,
    markers::{self, Marker},
};
use std::path::{Path, PathBuf};

/// An archive: its anchor and global definitions; events are read on demand.
#[derive(Clone, Debug)]
pub struct Archive {
    directory: PathBuf,
    /// What the anchor file says.
    pub anchor: Anchor,
    /// Global definitions, for all locations.
    pub definitions: Definitions,
}

impl Archive {
    /// Opens an archive by its anchor file, `NAME.otf2`.
    ///
    /// # Errors
    /// If the anchor or the global definitions cannot be read or are damaged.
    pub fn open(anchor: &Path) -> Result<Self> {
        let reported = Anchor::read(anchor)?;
        let definitions =
            Definitions::read(&mut Chunks::open(anchor.with_extension("def"), reported.definition_chunk)?)?;
        if definitions.locations.len() as u64 != reported.locations {
            let message = format!(
                "{} locations are announced, {} are defined",
                reported.locations,
                definitions.locations.len()
            );
            return Err(Error::damaged(anchor, 0, message));
        }
        Ok(Self { directory: anchor.with_extension(""), anchor: reported, definitions })
    }

    /// The events of a location from the first on, by the archive's numbers and clock. Local definitions may be missing.
    ///
    /// # Errors
    /// If the location's files are missing or its local definitions damaged.
    pub fn events(&self, location: u64) -> Result<Events> {
        let local = self.directory.join(format!("{location}.def"));
        let local = if local.exists() {
            Local::read(&mut Chunks::open(local, self.anchor.definition_chunk)?)?
        } else {
            Local::default()
        };
        Ok(Events::new(Chunks::open(self.events_path(location), self.anchor.event_chunk)?, local))
    }

    /// The markers of the archive, in the order of its file; none if it has no such file.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged.
    pub fn markers(&self) -> Result<Vec<Marker>> {
        markers::read(&self.directory.with_extension("marker"), self.anchor.definition_chunk)
    }

    /// The file that holds the events of a location.
    #[must_use]
    pub fn events_path(&self, location: u64) -> PathBuf {
        self.directory.join(format!("{location}.evt"))
    }
}
