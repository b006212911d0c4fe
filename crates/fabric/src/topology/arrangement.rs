//! Which group a global link leads to: shared by dragonflies.
//!
//! The global ports of a group are numbered by *slots*. A slot of the first round, below G - 1, leads to one other group,
//! and slots `s`, `s + (G - 1)`, `s + 2 (G - 1)`.. lead to the same one. The k-th link between two groups joins their k-th
//! slots for each other.

use base::param::{Kind, Param, Values};

const WORDS: &[&str] = &["relative", "absolute", "palmtree", "circulant"];

/// The parameter that chooses.
pub(crate) const PARAM: Param = Param {
    name: "arrangement",
    kind: Kind::Choice(WORDS),
    default: Some("relative"),
    doc: "which router of a group holds the link to which other group",
};

/// Which group a global slot leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Slot s of group g leads to group g + s + 1 (mod G).
    Relative,
    /// Slot s of group g leads to the s-th other group.
    Absolute,
    /// Slot s of group g leads to group g - s - 1 (mod G).
    Palmtree,
    /// Slots 0, 1, 2, 3.. of group g lead to groups g + 1, g - 1, g + 2, g - 2.. (mod G).
    Circulant,
}

impl Arrangement {
    /// The one that [`PARAM`] chose.
    pub(crate) fn chosen(values: &Values) -> Self {
        match values.text(PARAM.name).as_str() {
            "absolute" => Self::Absolute,
            "palmtree" => Self::Palmtree,
            "circulant" => Self::Circulant,
            _ => Self::Relative,
        }
    }

    /// The first-round slot of `group`, one of `groups`, that leads to the different group `to`.
    #[inline]
    #[must_use]
    pub fn slot(self, groups: u32, group: u32, to: u32) -> u32 {
        // Steps upward, 1 to G - 1.
        let ahead = if to > group { to - group } else { to + groups - group };
        match self {
            Self::Relative => ahead - 1,
            Self::Absolute => to - u32::from(to > group),
            Self::Palmtree => groups - ahead - 1,
            Self::Circulant if 2 * ahead <= groups => 2 * (ahead - 1),
            Self::Circulant => 2 * (groups - ahead) - 1,
        }
    }

    /// The group that the first-round slot of `group`, one of `groups`, leads to.
    #[must_use]
    pub fn group_behind(self, groups: u32, group: u32, slot: u32) -> u32 {
        let ahead = match self {
            Self::Relative => slot + 1,
            Self::Absolute => return slot + u32::from(slot >= group),
            Self::Palmtree => groups - slot - 1,
            Self::Circulant if slot.is_multiple_of(2) => slot / 2 + 1,
            Self::Circulant => groups - slot.div_ceil(2),
        };
        (group + ahead) % groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Arrangement; 4] =
        [Arrangement::Relative, Arrangement::Absolute, Arrangement::Palmtree, Arrangement::Circulant];

    #[test]
    fn slots_reach_every_other_group_once_and_the_two_forms_of_asking_agree() {
        for arrangement in ALL {
            for groups in 2..12 {
                for group in 0..groups {
                    let mut reached: Vec<u32> =
                        (0..groups - 1).map(|s| arrangement.group_behind(groups, group, s)).collect();
                    for (slot, &to) in reached.iter().enumerate() {
                        assert_eq!(
                            arrangement.slot(groups, group, to),
                            slot as u32,
                            "{arrangement:?} {groups}"
                        );
                    }
                    reached.sort_unstable();
                    let others: Vec<u32> = (0..groups).filter(|&g| g != group).collect();
                    assert_eq!(reached, others, "{arrangement:?} {groups}");
                }
            }
        }
    }

    #[test]
    fn rules_at_group_two_of_seven() {
        let groups = |a: Arrangement| (0..6).map(|s| a.group_behind(7, 2, s)).collect::<Vec<_>>();
        assert_eq!(groups(Arrangement::Relative), [3, 4, 5, 6, 0, 1]);
        assert_eq!(groups(Arrangement::Absolute), [0, 1, 3, 4, 5, 6]);
        assert_eq!(groups(Arrangement::Palmtree), [1, 0, 6, 5, 4, 3]);
        assert_eq!(groups(Arrangement::Circulant), [3, 1, 4, 0, 5, 6]);
    }
}
