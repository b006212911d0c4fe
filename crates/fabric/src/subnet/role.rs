//! What end ports are for, and which of them take part.

/// What an end port is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A host that computes: it carries ranks.
    Host,
    /// A server of a file system, as its name says.
    Storage,
    /// An aggregation node (SHARP): an adapter inside a switch.
    Aggregation,
    /// A router to another subnet.
    Router,
}

impl Role {
    /// All of them, with their names on the command line and in experiments.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Host, "hosts"),
        (Self::Storage, "storage"),
        (Self::Aggregation, "aggregation"),
        (Self::Router, "routers"),
    ];

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Which end ports take part: those of hosts, and more if asked. Others are left out with their cables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep(u8);

impl Default for Keep {
    /// Only the end ports of hosts.
    fn default() -> Self {
        Self(Role::Host.bit())
    }
}

impl Keep {
    /// Nodes of every role.
    pub const ALL: Self = Self((1 << Role::ALL.len()) - 1);

    /// From names of roles between commas, such as `hosts,storage`; `all` is all of them.
    ///
    /// # Errors
    /// A name that is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let known = || Role::ALL.map(|(_, name)| name).join(", ");
        let mut bits = 0;
        for word in text.split(',').map(str::trim) {
            bits |= match Role::ALL.iter().find(|(_, name)| *name == word) {
                Some((role, _)) => role.bit(),
                None if word == "all" => Self::ALL.0,
                None => return Err(format!("`{word}` is no kind of nodes: there are {} and all", known())),
            };
        }
        Ok(Self(bits))
    }

    /// True if end ports of this role take part.
    #[must_use]
    pub fn holds(self, role: Role) -> bool {
        self.0 & role.bit() != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_named() {
        assert!(Keep::parse("hosts") == Ok(Keep::default()) && Keep::default().holds(Role::Host));
        let two = Keep::parse("storage, hosts").unwrap();
        assert!(two.holds(Role::Storage) && two.holds(Role::Host) && !two.holds(Role::Router));
        assert!(Role::ALL.iter().all(|(role, _)| Keep::parse("all").unwrap().holds(*role)));
        assert!(Keep::parse("hosts,tapes").unwrap_err().contains("`tapes` is no kind"));
    }
}
