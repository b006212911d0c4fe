//! What the records of a cluster are of: switches, adapters of hosts, and adapters that carry no ranks.

use crate::subnet::{Keep, Role, Speed};

/// What a record is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Switch,
    Adapter(Role),
}

impl What {
    /// From the word that begins a record and its description.
    pub(super) fn of(word: &str, description: &str) -> Self {
        match word {
            word if word.starts_with("Sw") || word.starts_with("SW") => Self::Switch,
            word if word.starts_with("Rt") || word.starts_with("RT") => Self::Adapter(Role::Router),
            _ => Self::Adapter(role(description)),
        }
    }

    /// Compares with what a GUID is elsewhere in a file.
    ///
    /// # Errors
    /// If that is something else: nobody can say which is right, and what is left out depends on it.
    pub(super) fn same(self, here: Self, guid: u64) -> Result<(), String> {
        if self == here {
            return Ok(());
        }
        Err(format!("{guid:#018x} is {} here, and {} above", here.word(), self.word()))
    }

    /// For messages, with its article.
    fn word(self) -> &'static str {
        match self {
            Self::Switch => "a switch",
            Self::Adapter(Role::Router) => "a router to other subnets",
            Self::Adapter(Role::Aggregation) => "an aggregation node",
            Self::Adapter(Role::Storage) => "a storage node",
            Self::Adapter(Role::Host) => "a host",
        }
    }

    /// True if its ports are no part of the subnet.
    pub(super) fn is_left_out(self, keep: Keep) -> bool {
        matches!(self, Self::Adapter(role) if !keep.holds(role))
    }

    /// What its end ports are.
    pub(super) fn role(self) -> Role {
        match self {
            Self::Switch => Role::Host,
            Self::Adapter(role) => role,
        }
    }
}

/// Words of descriptions that say storage: servers and targets of the usual parallel file systems.
const STORAGE: &[&str] = &[
    "storage", "stor", "oss", "ost", "mds", "mdt", "mgs", "nsd", "nas", "nfs", "lustre", "gpfs", "beegfs",
    "ceph", "weka", "ddn", "daos",
];

/// From a description such as `oss03 HCA-1`: whole words count, digits at their ends do not.
fn role(description: &str) -> Role {
    let text = description.to_ascii_lowercase();
    if text.contains("aggregation node") {
        return Role::Aggregation;
    }
    let mut words = text.split(|c: char| !c.is_ascii_alphabetic());
    if words.any(|word| STORAGE.contains(&word)) { Role::Storage } else { Role::Host }
}

/// What is reported of records that were left out: their roles and descriptions.
pub(super) fn notes_of<'a>(records: impl Iterator<Item = (What, &'a str)>, keep: Keep) -> Vec<String> {
    let mut counts = [0u32; 4];
    let mut storage = "";
    for (record, description) in records.filter(|(record, _)| record.is_left_out(keep)) {
        match record.role() {
            Role::Storage if counts[0] == 0 => (counts[0], storage) = (1, description),
            Role::Storage => counts[0] += 1,
            Role::Aggregation => counts[1] += 1,
            Role::Router => counts[2] += 1,
            Role::Host => counts[3] += 1,
        }
    }
    let texts = [
        format!("storage nodes left out, by their names, the first \"{}\"", storage.escape_debug()),
        "aggregation nodes left out: they carry no ranks".to_owned(),
        "routers to other subnets left out: they carry no ranks".to_owned(),
        "hosts left out: they were not asked for".to_owned(),
    ];
    counts.into_iter().zip(texts).filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect()
}

/// Cables whose speed is written and unknown, and the first of these words.
#[derive(Default)]
pub(super) struct Strange {
    cables: u32,
    first: String,
}

impl Strange {
    /// Counts a cable.
    pub(super) fn count(&mut self, word: &str) {
        self.cables += 1;
        if self.first.is_empty() {
            self.first = word.to_owned();
        }
    }

    /// What is reported of them.
    pub(super) fn note(&self) -> Option<String> {
        let Self { cables, first } = self;
        let usual = Speed::USUAL;
        (*cables > 0).then(|| {
            format!("{cables} cables state an unknown speed, the first \"{first}\": taken for {usual}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_nodes_are() {
        for (description, expected) in [
            ("node0042 mlx5_0", Role::Host),
            ("crossover-nasty HCA-1", Role::Host),
            ("oss03 HCA-1", Role::Storage),
            ("scratch-mds2-ib0", Role::Storage),
            ("Mellanox Technologies Aggregation Node", Role::Aggregation),
        ] {
            assert_eq!(role(description), expected, "{description}");
        }
        assert_eq!(What::of("Rt", "oss").role(), Role::Router);
    }
}
