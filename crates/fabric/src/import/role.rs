//! What the records of a cluster are of: switches, adapters, and adapters that carry no ranks.

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

/// What is told of records that were left out.
pub(super) fn notes_of(roles: &[Role]) -> impl Iterator<Item = String> + use<> {
    let count = |role: Role| roles.iter().filter(|r| **r == role).count();
    let all = [
        (count(Role::Aggregation), "aggregation nodes left out: they carry no ranks"),
        (count(Role::Router), "routers to other subnets left out: they carry no ranks"),
    ];
    all.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"))
}
