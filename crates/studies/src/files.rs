//! Files of studies: those that are part of this crate, or a directory's.

use base::scratch::Scratch;
use netloom::{
    Error, ErrorKind, Input, Prepared, Registry, RunOptions, Watcher, input::read_file, prepare::prepare_text,
};
use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// File that makes a directory a study.
pub const FILE: &str = "published.toml";

/// A study's name with the names and texts of its files.
type Own = (&'static str, &'static [(&'static str, &'static str)]);

/// The files of one study: `files!("name": "a.toml", ..)`.
macro_rules! files {
    ($study:literal: $($file:literal),+ $(,)?) => {
        ($study, &[$(($file, include_str!(concat!("../studies/", $study, "/", $file)))),+])
    };
}

/// The studies of this crate, sorted.
const OWN: &[Own] = &[
    files!("booksim": "dragonfly-ugal.toml", "dragonfly.toml", "fat-tree.toml", "mesh.toml", "published.toml", "torus.toml"),
    files!("codes": "dragonfly.toml", "published.toml"),
    files!("haec-sim": "published.toml", "tables.toml"),
    files!("hybrid-honesty": "changing.toml", "published.toml", "steady.toml", "torus.toml"),
    files!("loggopsim":
        "alltoall.ranks", "alltoall.toml", "dissemination.ranks", "dissemination.toml", "published.toml", "ring.ranks", "ring.toml",
        "star-in.ranks", "star-in.toml", "star-out.ranks", "star-out.toml"),
    files!("mars": "gups.toml", "indirect.toml", "published.toml", "racks.toml", "tree.toml"),
    files!("orcs": "beside.toml", "figure-3.toml", "figure-4.toml", "figures.toml", "listing-3.toml", "published.toml"),
    files!("portals4-bxi": "published.toml", "quito.toml", "rate.c"),
    files!("simgrid": "published.toml", "scenarios.json"),
    files!("zombie-packets": "1056.toml", "72.toml", "8448.toml", "published.toml"),
];

/// Where studies are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In this crate.
    Own,
    /// Directories in a directory.
    Directory(PathBuf),
}

impl Place {
    /// Names of the studies, sorted; none if a directory cannot be read.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let Self::Directory(directory) = self else {
            return OWN.iter().map(|(name, _)| (*name).to_owned()).collect();
        };
        let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
        let found = entries.flatten().filter(|e| e.path().join(FILE).is_file());
        let mut names: Vec<String> = found.filter_map(|e| e.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// How messages call it.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Own => "this program".to_owned(),
            Self::Directory(directory) => format!("`{}`", directory.display()),
        }
    }

    /// Files of a study.
    #[must_use]
    pub fn files(&self, study: &str) -> Files {
        match self {
            Self::Own => Files {
                directory: Path::new("studies").join(study),
                own: OWN.iter().find(|(name, _)| *name == study).map(|(_, files)| *files),
                unpacked: Mutex::default(),
            },
            Self::Directory(directory) => {
                Files { directory: directory.join(study), own: None, unpacked: Mutex::default() }
            }
        }
    }
}

/// Files of one study.
pub struct Files {
    /// Where they are; if they are [`Files::own`], where they are in the repository.
    directory: PathBuf,
    own: Option<&'static [(&'static str, &'static str)]>,
    /// A directory with all files, where experiments name some of them; it vanishes with this.
    unpacked: Mutex<Option<Scratch>>,
}

impl Files {
    /// How a file is called in messages.
    #[must_use]
    pub fn path(&self, file: &str) -> PathBuf {
        self.directory.join(file)
    }

    /// True if they are part of this crate: none of them need be on disk.
    #[must_use]
    pub fn are_own(&self) -> bool {
        self.own.is_some()
    }

    /// True if there is a file of this name.
    #[must_use]
    pub fn has(&self, file: &str) -> bool {
        match self.own {
            Some(files) => files.iter().any(|(name, _)| *name == file),
            None => self.path(file).is_file(),
        }
    }

    /// A file's text.
    ///
    /// # Errors
    /// If it is missing or unreadable.
    pub fn text(&self, file: &str) -> Result<String, Error> {
        let Some(files) = self.own else { return read_file(&self.path(file)) };
        let found = files.iter().find(|(name, _)| *name == file);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| {
            Error::new(
                ErrorKind::Input,
                format!("cannot read `{}`: it is no part of this program", self.path(file).display()),
            )
        })
    }

    /// Where an experiment is whose program of ranks is a file too: those are read from disk, so all files are written there.
    fn unpacked(&self) -> Result<Option<PathBuf>, Error> {
        let files = self.own.unwrap_or_default();
        let named = files.iter().any(|(name, _)| name.ends_with(".ranks"));
        if !named {
            return Ok(None);
        }
        let failed = |folder: &Path, e| {
            Error::new(ErrorKind::Output, format!("cannot write in `{}`: {e}", folder.display()))
        };
        let mut unpacked = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        if unpacked.is_none() {
            let made = Scratch::new("files").map_err(|e| failed(&std::env::temp_dir(), e))?;
            for (file, text) in files {
                std::fs::write(made.path().join(file), text).map_err(|e| failed(made.path(), e))?;
            }
            *unpacked = Some(made);
        }
        Ok(unpacked.as_ref().map(|made| made.path().to_owned()))
    }

    /// An experiment of the study with overrides, ready to run.
    ///
    /// # Errors
    /// If it cannot be read, has mistakes, or needs more memory than it may use.
    pub fn prepare(
        &self,
        experiment: &str,
        set: Vec<String>,
        options: &RunOptions,
        watcher: &dyn Watcher,
    ) -> Result<Prepared, Error> {
        let file = self.unpacked()?.map_or_else(|| self.path(experiment), |folder| folder.join(experiment));
        let input = Input { file, set };
        prepare_text(&Registry::standard(), &input, self.text(experiment)?, options, watcher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is in the directory of studies is in the crate, with the same bytes.
    #[test]
    fn no_file_is_missing() {
        let root = Path::new("studies");
        let mut known: Vec<PathBuf> = Vec::new();
        for (study, files) in OWN {
            for (file, text) in *files {
                let path = root.join(study).join(file);
                assert_eq!(std::fs::read_to_string(&path).unwrap(), *text, "{}", path.display());
                known.push(path);
            }
        }
        let mut there: Vec<PathBuf> = Vec::new();
        for study in std::fs::read_dir(root).unwrap() {
            let files = std::fs::read_dir(study.unwrap().path()).unwrap();
            there.extend(files.map(|file| file.unwrap().path()));
        }
        known.sort();
        there.sort();
        assert_eq!(known, there);
        assert_eq!(Place::Own.names(), Place::Directory(root.to_owned()).names());
    }

    #[test]
    fn files_that_are_not_there_are_reported() {
        let files = Place::Own.files("orcs");
        assert!(files.has("figures.toml") && !files.has("figure-5.toml"));
        let error = files.text("figure-5.toml").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        assert!(error.to_string().contains("orcs/figure-5.toml"), "{error}");
    }
}
