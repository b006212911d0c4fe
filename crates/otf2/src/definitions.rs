//! Global definitions: what numbers in events stand for.

use crate::{
    Result,
    bytes::{Bytes, put_number, put_record, put_reference, put_text},
    chunks::Chunks,
};
use std::collections::BTreeMap;

/// Numbers of paradigms.
pub mod paradigm {
    /// The program itself.
    pub const USER: u8 = 1;
    /// MPI, of whatever version.
    pub const MPI: u8 = 4;
}

/// Time of the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Ticks in a second.
    pub resolution: u64,
    /// Time of the first event.
    pub offset: u64,
    /// Ticks from the first to the last event.
    pub length: u64,
}

impl Default for Clock {
    fn default() -> Self {
        Self { resolution: 1_000_000_000, offset: 0, length: 0 }
    }
}

impl Clock {
    /// A time as picoseconds since the start of the archive, rounded down; 0 for what lies before it.
    #[must_use]
    pub fn picoseconds(&self, time: u64) -> u64 {
        let ticks = u128::from(time.saturating_sub(self.offset));
        u64::try_from(ticks * 1_000_000_000_000 / u128::from(self.resolution.max(1))).unwrap_or(u64::MAX)
    }
}

/// A function or a construct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Number of its name among [`Definitions::strings`].
    pub name: u32,
    /// The interface that it belongs to: a number of [`paradigm`].
    pub paradigm: u8,
    /// Its role: 1 is a function, 16 and more are synchronisations and communication.
    pub role: u8,
}

/// A kind of group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupType {
    /// Locations that communicate: members are locations; others refer to them by place.
    Locations,
    /// Members are places in the [`GroupType::Locations`] group of the same paradigm.
    Ranks,
    /// Each by itself.
    Alone,
    /// Any other kind, by its number in the file.
    Other(u8),
}

/// A group of locations or of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Number of its name among [`Definitions::strings`].
    pub name: u32,
    /// What its members are.
    pub kind: GroupType,
    /// The interface that it belongs to: a number of [`paradigm`].
    pub paradigm: u8,
    /// Members in the order of their ranks; what the numbers are depends on `kind`.
    pub members: Vec<u64>,
}

/// A communicator: a group under a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Comm {
    /// Number of its name among [`Definitions::strings`].
    pub name: u32,
    /// Number of its members' group among [`Definitions::groups`].
    pub group: u32,
}

/// A window of one-sided communication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Number of its name among [`Definitions::strings`].
    pub name: u32,
    /// Number of the communicator whose ranks open their memory.
    pub comm: u32,
    /// Events say when it is made and given back; else it is there all the time.
    pub made: bool,
}

/// A group of locations, such as a process with its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocationGroup {
    /// Number of its name among [`Definitions::strings`].
    pub name: u32,
    /// 1 is a process.
    pub kind: u8,
    /// The node of the system tree that it is on.
    pub parent: Option<u32>,
}

/// A thread: a stream of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// Number of its name among [`Definitions::strings`].
    pub name: u32,
    /// 1 is a thread of a processor.
    pub kind: u8,
    /// Number of its events.
    pub events: u64,
    /// Number of its process among [`Definitions::location_groups`].
    pub group: u32,
}

/// A machine, a node and the like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemTreeNode {
    /// Number of its name among [`Definitions::strings`].
    pub name: u32,
    /// What it is.
    pub class: u32,
    /// What it is part of.
    pub parent: Option<u32>,
}

/// Something more that an event may carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attribute {
    /// Number of its name among [`Definitions::strings`].
    pub name: u32,
    /// Number of its description among [`Definitions::strings`].
    pub description: u32,
    /// Type of its values: 3 is u32, 4 is u64.
    pub kind: u8,
}

/// Global definitions by number. Where a number is defined twice, the last definition counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definitions {
    /// What a tick of the archive is.
    pub clock: Clock,
    /// Texts that other definitions name by number.
    pub strings: BTreeMap<u32, String>,
    /// Functions and constructs that are entered and left.
    pub regions: BTreeMap<u32, Region>,
    /// Groups that communicators name by number.
    pub groups: BTreeMap<u32, Group>,
    /// Communicators that events name by number.
    pub comms: BTreeMap<u32, Comm>,
    /// Windows that events name by number.
    pub windows: BTreeMap<u32, Window>,
    /// Processes that locations name by number.
    pub location_groups: BTreeMap<u32, LocationGroup>,
    /// Threads, each with a file of events of its own.
    pub locations: BTreeMap<u64, Location>,
    /// Machines and nodes.
    pub nodes: BTreeMap<u32, SystemTreeNode>,
    /// What events may carry.
    pub attributes: BTreeMap<u32, Attribute>,
    /// Records of other types, which are skipped.
    pub skipped: u64,
}

const CLOCK: u8 = 5;
const STRING: u8 = 10;
const ATTRIBUTE: u8 = 11;
const SYSTEM_TREE_NODE: u8 = 12;
const LOCATION_GROUP: u8 = 13;
const LOCATION: u8 = 14;
const REGION: u8 = 15;
const GROUP: u8 = 18;
const COMM: u8 = 22;
const WINDOW: u8 = 24;

impl Definitions {
    /// A text; empty if it is not defined.
    #[must_use]
    pub fn text(&self, number: u32) -> &str {
        self.strings.get(&number).map_or("", String::as_str)
    }

    /// The number of a text, which is defined if it is not.
    pub fn string(&mut self, text: &str) -> u32 {
        if let Some((&number, _)) = self.strings.iter().find(|(_, t)| *t == text) {
            return number;
        }
        let number = self.strings.len() as u32;
        self.strings.insert(number, text.to_owned());
        number
    }

    /// Locations of the ranks of MPI's world, by rank; empty if no group says.
    #[must_use]
    pub fn ranks(&self) -> &[u64] {
        let mut groups = self.groups.values().filter(|g| g.kind == GroupType::Locations);
        groups.find(|g| g.paradigm == paradigm::MPI).map_or(&[], |g| &g.members)
    }

    pub(crate) fn read(chunks: &mut Chunks) -> Result<Self> {
        let mut all = Self::default();
        while let Some(()) = chunks.next(|bytes| {
            let kind = bytes.u8()?;
            all.record(kind, &mut bytes.body()?)
        })? {}
        Ok(all)
    }

    fn record(&mut self, kind: u8, b: &mut Bytes<'_>) -> Result<()> {
        match kind {
            CLOCK => {
                let (resolution, offset, length) = (b.number()?, b.number()?, b.number()?);
                if resolution == 0 {
                    return b.wrong("a clock without ticks");
                }
                self.clock = Clock { resolution, offset, length };
            }
            STRING => _ = self.strings.insert(b.number32()?, b.text()?),
            ATTRIBUTE => {
                let number = b.number32()?;
                let (name, kind) = (b.number32()?, b.u8()?);
                let attribute = Attribute { name, kind, description: b.number32()? };
                self.attributes.insert(number, attribute);
            }
            SYSTEM_TREE_NODE => {
                let number = b.number32()?;
                let node = SystemTreeNode {
                    name: b.number32()?,
                    class: b.number32()?,
                    parent: defined(b.number32()?),
                };
                self.nodes.insert(number, node);
            }
            LOCATION_GROUP => {
                let number = b.number32()?;
                let group =
                    LocationGroup { name: b.number32()?, kind: b.u8()?, parent: defined(b.number32()?) };
                self.location_groups.insert(number, group);
            }
            LOCATION => {
                let number = b.number()?;
                let location = Location {
                    name: b.number32()?,
                    kind: b.u8()?,
                    events: b.number()?,
                    group: b.number32()?,
                };
                self.locations.insert(number, location);
            }
            REGION => {
                let (number, name) = (b.number32()?, b.number32()?);
                let (_description, _old_role) = (b.number32()?, b.u8()?);
                let (_file, _first, _last, _canonical) =
                    (b.number32()?, b.number32()?, b.number32()?, b.number32()?);
                self.regions.insert(number, Region { name, role: b.u8()?, paradigm: b.u8()? });
            }
            GROUP => _ = self.groups.insert(b.number32()?, group(b)?),
            COMM => _ = self.comms.insert(b.number32()?, Comm { name: b.number32()?, group: b.number32()? }),
            WINDOW => {
                let number = b.number32()?;
                let (name, comm) = (b.number32()?, b.number32()?);
                // Older archives have no flags, and events.
                let made = b.left() == 0 || b.number32()? & 1 == 1;
                self.windows.insert(number, Window { name, comm, made });
            }
            _ => self.skipped += 1,
        }
        Ok(())
    }

    /// All records but the end, and how many they are.
    pub(crate) fn records(&self) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        let mut put = |kind: u8, fill: &dyn Fn(&mut Vec<u8>)| {
            let (mut body, mut record) = (Vec::new(), Vec::new());
            fill(&mut body);
            put_record(&mut record, kind, &body);
            all.push(record);
        };
        put(CLOCK, &|b| {
            [self.clock.resolution, self.clock.offset, self.clock.length]
                .iter()
                .for_each(|&n| put_number(b, n));
            b.push(0xff);
        });
        for (&number, text) in &self.strings {
            put(STRING, &|b| {
                put_number(b, number.into());
                put_text(b, text);
            });
        }
        for (&number, a) in &self.attributes {
            put(ATTRIBUTE, &|b| {
                put_number(b, number.into());
                put_number(b, a.name.into());
                b.push(a.kind);
                put_number(b, a.description.into());
            });
        }
        for (&number, n) in &self.nodes {
            put(SYSTEM_TREE_NODE, &|b| {
                [number, n.name, n.class].iter().for_each(|&n| put_number(b, n.into()));
                put_reference(b, n.parent);
            });
        }
        for (&number, g) in &self.location_groups {
            put(LOCATION_GROUP, &|b| {
                [number, g.name].iter().for_each(|&n| put_number(b, n.into()));
                b.push(g.kind);
                put_reference(b, g.parent);
                // Created by nobody.
                b.push(0xff);
            });
        }
        for (&number, l) in &self.locations {
            put(LOCATION, &|b| {
                put_number(b, number);
                put_number(b, l.name.into());
                b.push(l.kind);
                put_number(b, l.events);
                put_number(b, l.group.into());
            });
        }
        for (&number, r) in &self.regions {
            put(REGION, &|b| {
                // Without description; role as of format 1, file, first and last line.
                [number, r.name, 0].iter().for_each(|&n| put_number(b, n.into()));
                b.extend_from_slice(&[0, 0xff, 0, 0]);
                put_number(b, r.name.into());
                // Without flags.
                b.extend_from_slice(&[r.role, r.paradigm, 0]);
            });
        }
        for (&number, g) in &self.groups {
            put(GROUP, &|b| put_group(b, number, g));
        }
        for (&number, c) in &self.comms {
            put(COMM, &|b| {
                [number, c.name, c.group].iter().for_each(|&n| put_number(b, n.into()));
                // Parent and flags.
                b.extend_from_slice(&[0xff, 0]);
            });
        }
        for (&number, w) in &self.windows {
            put(WINDOW, &|b| {
                [number, w.name, w.comm, u32::from(w.made)].iter().for_each(|&n| put_number(b, n.into()));
            });
        }
        all
    }
}

fn defined(number: u32) -> Option<u32> {
    (number != u32::MAX).then_some(number)
}

fn group(b: &mut Bytes<'_>) -> Result<Group> {
    let (name, _old_kind, count) = (b.number32()?, b.u8()?, b.number32()?);
    // A member takes a byte at least.
    if count as usize > b.left() {
        return b.wrong(format!("a group of {count} members in {} bytes", b.left()));
    }
    let members = (0..count).map(|_| b.number()).collect::<Result<_>>()?;
    let kind = match b.u8()? {
        4 => GroupType::Locations,
        5 => GroupType::Ranks,
        6 => GroupType::Alone,
        n => GroupType::Other(n),
    };
    Ok(Group { name, kind, paradigm: b.u8()?, members })
}

fn put_group(b: &mut Vec<u8>, number: u32, g: &Group) {
    // Kinds as of format 1, which knew MPI's alone, and since.
    let (old, kind) = match g.kind {
        GroupType::Locations => (6, 4),
        GroupType::Ranks => (4, 5),
        GroupType::Alone => (5, 6),
        GroupType::Other(n) => (0, n),
    };
    put_number(b, number.into());
    put_number(b, g.name.into());
    b.push(if g.paradigm == paradigm::MPI { old } else { 0 });
    put_number(b, g.members.len() as u64);
    g.members.iter().for_each(|&m| put_number(b, m));
    // Without flags.
    b.extend_from_slice(&[kind, g.paradigm, 0]);
}
