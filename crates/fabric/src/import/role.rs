//! What the records of a cluster are of: switches, adapters, and adapters that carry no ranks.

use crate::subnet::Speed;

/// What a record is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Switch,
    Adapter,
    /// An aggregation node.
    Aggregation,
    /// A router to another subnet.
    Router,
}

impl Role {
    /// From the word that begins a record and its description.
    pub(super) fn of(word: &str, description: &str) -> Self {
        match word {
            word if word.starts_with("Sw") || word.starts_with("SW") => Self::Switch,
            word if word.starts_with("Rt") => Self::Router,
            _ if description.to_ascii_lowercase().contains("aggregation node") => Self::Aggregation,
            _ => Self::Adapter,
        }
    }

    /// True if its ports are no part of the subnet.
    pub(super) fn is_left_out(self) -> bool {
        matches!(self, Self::Aggregation | Self::Router)
    }
}

/// What is reported of records that were left out.
pub(super) fn notes_of(roles: &[Role]) -> impl Iterator<Item = String> + use<> {
    let count = |role: Role| roles.iter().filter(|r| **r == role).count();
    let all = [
        (count(Role::Aggregation), "aggregation nodes left out: they carry no ranks"),
        (count(Role::Router), "routers to other subnets left out: they carry no ranks"),
    ];
    all.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"))
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
            format!("{cables} cables tell an unknown speed, the first \"{first}\": taken for {usual}")
        })
    }
}
