//! State of ranks: clocks, what waits for them, alarms.
//!
//! Most ranks have one processor and one interface. These are kept in the host's own row, two cache lines in all; further
//! processors and interfaces lie in tables of their own.

use base::time::{NEVER, Ps};
use engine::state::{Fifo, Journal, NIL, Table};
use serde::{Deserialize, Serialize};

/// A host: its events, its first processor and its first interface.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[repr(align(64))]
pub(super) struct Host {
    /// Earliest alarm that is set, and one more that is known.
    pub alarm: Ps,
    pub spare: Ps,
    /// Messages on their way, a heap by arrival and stamp.
    pub inbox: u32,
    /// How many things were created so far.
    pub created: u32,
    /// Alarms that were set so far, modulo 2^32: numbers them for the engine.
    pub alarms: u32,
    /// How often it was found out what comes next, if that stands in a calendar.
    pub looks: u32,
    core: Core,
    nic: Nic,
    lane: Lane,
}

const _: () = assert!(size_of::<Host>() == 128);

/// A processor of a host, with its clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Core {
    /// When it is free.
    pub free: Ps,
    /// Computations that wait for it, in order of their stamps.
    pub calcs: Fifo,
    /// Receives and probes, in order of their times and stamps.
    pub recvs: Fifo,
}

/// A network interface.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Nic {
    /// When it can send.
    pub send: Ps,
    /// When it can receive.
    pub receive: Ps,
}

/// What waits for a processor and an interface.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Lane {
    /// Sends, in order of their stamps.
    pub sends: Fifo,
    /// Messages that have arrived, a heap by stamp.
    pub ready: u32,
}

/// The hosts of a partition.
#[derive(Clone, PartialEq)]
pub(super) struct Hosts {
    rows: Table<Host>,
    /// Processors but the first of every host, and so on.
    cores: Table<Core>,
    nics: Table<Nic>,
    lanes: Table<Lane>,
    cpus: u32,
    nics_each: u32,
}

impl Hosts {
    /// Hosts that start at these times, with as many processors and interfaces each.
    pub fn new(starts: &[Ps], cpus: u32, nics: u32) -> Self {
        debug_assert!(cpus >= 1 && nics >= 1, "a host has a processor and an interface");
        let core = |free| Core { free, calcs: Fifo::default(), recvs: Fifo::default() };
        let nic = |free| Nic { send: free, receive: free };
        let lane = Lane { sends: Fifo::default(), ready: NIL };
        let host = |&start: &Ps| Host {
            alarm: NEVER,
            spare: NEVER,
            inbox: NIL,
            created: 0,
            alarms: 0,
            looks: 0,
            core: core(start),
            nic: nic(start),
            lane,
        };
        let more = |each: u32| starts.iter().flat_map(move |&s| (1..each).map(move |_| s));
        Self {
            rows: Table::from(starts.iter().map(host).collect::<Vec<_>>()),
            cores: Table::from(more(cpus).map(core).collect::<Vec<_>>()),
            nics: Table::from(more(nics).map(nic).collect::<Vec<_>>()),
            lanes: Table::new(starts.len() * (cpus * nics - 1) as usize, lane),
            cpus,
            nics_each: nics,
        }
    }

    /// Number of hosts.
    pub fn len(&self) -> u32 {
        self.rows.len() as u32
    }

    #[inline]
    pub fn get(&self, host: u32) -> &Host {
        self.rows.get(host)
    }

    #[inline]
    pub fn edit(&mut self, host: u32) -> &mut Host {
        self.rows.edit(host)
    }

    #[inline]
    pub fn core(&self, host: u32, cpu: u8) -> &Core {
        if cpu == 0 { &self.rows.get(host).core } else { self.cores.get(self.core_at(host, cpu)) }
    }

    #[inline]
    pub fn edit_core(&mut self, host: u32, cpu: u8) -> &mut Core {
        if cpu == 0 { &mut self.rows.edit(host).core } else { self.cores.edit(self.core_at(host, cpu)) }
    }

    #[inline]
    pub fn nic(&self, host: u32, nic: u8) -> &Nic {
        if nic == 0 { &self.rows.get(host).nic } else { self.nics.get(self.nic_at(host, nic)) }
    }

    #[inline]
    pub fn edit_nic(&mut self, host: u32, nic: u8) -> &mut Nic {
        if nic == 0 { &mut self.rows.edit(host).nic } else { self.nics.edit(self.nic_at(host, nic)) }
    }

    #[inline]
    pub fn lane(&self, host: u32, cpu: u8, nic: u8) -> &Lane {
        if cpu | nic == 0 { &self.rows.get(host).lane } else { self.lanes.get(self.lane_at(host, cpu, nic)) }
    }

    #[inline]
    pub fn edit_lane(&mut self, host: u32, cpu: u8, nic: u8) -> &mut Lane {
        if cpu | nic == 0 {
            &mut self.rows.edit(host).lane
        } else {
            self.lanes.edit(self.lane_at(host, cpu, nic))
        }
    }

    fn core_at(&self, host: u32, cpu: u8) -> u32 {
        debug_assert!(
            (1..self.cpus).contains(&u32::from(cpu)),
            "further processors than the first have rows of their own"
        );
        host * (self.cpus - 1) + u32::from(cpu) - 1
    }

    fn nic_at(&self, host: u32, nic: u8) -> u32 {
        debug_assert!(
            (1..self.nics_each).contains(&u32::from(nic)),
            "further interfaces than the first have rows of their own"
        );
        host * (self.nics_each - 1) + u32::from(nic) - 1
    }

    fn lane_at(&self, host: u32, cpu: u8, nic: u8) -> u32 {
        debug_assert!(
            u32::from(cpu) < self.cpus && u32::from(nic) < self.nics_each,
            "a lane leads from a processor to an interface of its host"
        );
        host * (self.cpus * self.nics_each - 1) + u32::from(cpu) * self.nics_each + u32::from(nic) - 1
    }

    /// Hints that a host will be looked at soon; any number is allowed.
    #[inline]
    pub fn prefetch(&self, host: u32) {
        self.rows.prefetch(host);
        self.rows.prefetch_end(host);
    }

    /// Shows every table to the engine.
    pub fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.rows);
        visit(&mut self.cores);
        visit(&mut self.nics);
        visit(&mut self.lanes);
    }
}
