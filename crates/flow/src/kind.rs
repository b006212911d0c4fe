//! What alarms of the flow model are for.

use ranks::carrier;

/// What an alarm is for. Its number stands in its token and its identity; two of one number do not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Bandwidth is shared anew.
    Share = 0,
    /// A rank of traffic sends.
    Source = 1,
    /// The host set it, for itself.
    Host = 2,
    /// Links of the network fail.
    Failure = 3,
}

impl Kind {
    /// The token of an alarm, with what it needs to know.
    #[must_use]
    pub fn token(self, which: u32) -> u32 {
        carrier::token(self as u32, which)
    }

    /// What a token is for, and what it knows.
    #[must_use]
    pub fn of(token: u32) -> (Self, u32) {
        const ALL: [Kind; 4] = [Kind::Share, Kind::Source, Kind::Host, Kind::Failure];
        const {
            assert!(
                ALL[1] as u8 == 1 && ALL[2] as u8 == 2 && ALL[3] as u8 == 3,
                "in the order of their numbers"
            )
        };
        let (kind, which) = carrier::parts(token);
        (ALL[kind as usize], which)
    }

    /// The first bits of identities of its alarms: those of two kinds differ.
    #[must_use]
    pub fn identity(self) -> u64 {
        u64::from(self as u32) << 62
    }
}
