//! Starting files for what people do: commented experiments that run within seconds as they are, with the files that they need.

use crate::error::{Error, ErrorKind};
use base::registry::nearest;
use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// A starting point.
pub struct Start {
    /// What it is called.
    pub name: &'static str,
    /// What it is for.
    pub summary: &'static str,
    /// Names and texts of its files, the experiment first.
    pub files: &'static [(&'static str, &'static str)],
}

const EXPERIMENT: &str = "experiment.toml";

/// All of them.
pub const STARTS: &[Start] = &[
    Start {
        name: "routings",
        summary: "compare routings: latency over load, with its figure",
        files: &[(EXPERIMENT, include_str!("../starts/routings/experiment.toml"))],
    },
    Start {
        name: "cluster",
        summary: "a cluster from the dump of its cables, routed by an engine",
        files: &[
            (EXPERIMENT, include_str!("../starts/cluster/experiment.toml")),
            ("cluster.ibnetdiscover", include_str!("../starts/cluster/cluster.ibnetdiscover")),
        ],
    },
    Start {
        name: "trace",
        summary: "replay a program of ranks from a file",
        files: &[
            (EXPERIMENT, include_str!("../starts/trace/experiment.toml")),
            ("program.ranks", include_str!("../starts/trace/program.ranks")),
        ],
    },
    Start {
        name: "application",
        summary: "how much an application depends on the network, with its figure",
        files: &[(EXPERIMENT, include_str!("../starts/application/experiment.toml"))],
    },
    Start {
        name: "training",
        summary: "a step of data-parallel training",
        files: &[(EXPERIMENT, include_str!("../starts/training/experiment.toml"))],
    },
    Start {
        name: "portals",
        summary: "a machine for Portals 4 programs, and a program",
        files: &[
            (EXPERIMENT, include_str!("../starts/portals/experiment.toml")),
            ("pingpong.c", include_str!("../starts/portals/pingpong.c")),
        ],
    },
    Start {
        name: "topology",
        summary: "a network of one's own, from a list of its cables",
        files: &[
            (EXPERIMENT, include_str!("../starts/topology/experiment.toml")),
            ("network.edges", include_str!("../starts/topology/network.edges")),
        ],
    },
];

/// The starting point of this name.
///
/// # Errors
/// If there is none.
pub fn find(name: &str) -> Result<&'static Start, Error> {
    STARTS.iter().find(|start| start.name == name).ok_or_else(|| {
        let names = || STARTS.iter().map(|start| start.name);
        let near = nearest(name, names())
            .first()
            .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        let help = format!("{near}there are {}", names().collect::<Vec<_>>().join(", "));
        Error::new(ErrorKind::Usage, format!("there is no starting file for `{name}`")).with_help(help)
    })
}

impl Start {
    /// Writes the files into a directory, which is made if it is not there.
    ///
    /// # Errors
    /// If one of them exists, or the system refuses.
    pub fn write(&self, directory: &Path) -> Result<Vec<PathBuf>, Error> {
        results::claim::check_name(directory)?;
        let paths: Vec<PathBuf> = self.files.iter().map(|(name, _)| directory.join(name)).collect();
        let failed = |path: &Path, e: io::Error| {
            let failure = Error::new(ErrorKind::Output, format!("cannot write `{}`: {e}", path.display()));
            failure.with_help("choose a directory by --out; no file is replaced")
        };
        if let Some(path) = paths.iter().find(|path| path.exists()) {
            return Err(failed(path, io::ErrorKind::AlreadyExists.into()));
        }
        fs::create_dir_all(directory).map_err(|e| failed(directory, e))?;
        for (path, (_, text)) in paths.iter().zip(self.files) {
            let file = OpenOptions::new().write(true).create_new(true).open(path);
            file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|e| failed(path, e))?;
        }
        Ok(paths)
    }

    /// The commands that its experiment names in its first lines.
    #[must_use]
    pub fn commands(&self) -> Vec<&'static str> {
        let head = self.files[0].1.lines().take_while(|line| line.starts_with('#'));
        head.filter_map(|line| line.strip_prefix("#   "))
            .filter(|line| line.starts_with("netloom "))
            .collect()
    }
}
