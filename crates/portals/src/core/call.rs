//! What a processor asks of its interface, as values: so that whoever asks can write it down and ask it again.
//!
//! Looks at events and counters are not here: they change nothing but what was looked at, and how long one looks is a matter of time.

use super::{
    operation::Op,
    process::Process,
    types::{Answer, Code, Count, INVALID, Limits, List, Md, Me, Memory, ProcessId, TableEntry},
};
use serde::{Deserialize, Serialize};

/// When a triggered operation fires. Recordings hold it as a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u64)", into = "(u32, u64)")]
pub struct Trigger {
    /// Handle of the counting event that is watched.
    pub counter: u32,
    /// Count, successes and failures together, from which on it fires.
    pub threshold: u64,
}

impl From<(u32, u64)> for Trigger {
    fn from((counter, threshold): (u32, u64)) -> Self {
        Self { counter, threshold }
    }
}

impl From<Trigger> for (u32, u64) {
    fn from(of: Trigger) -> Self {
        (of.counter, of.threshold)
    }
}

/// A call of the interface. Handles are those that earlier calls gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "calls of the interface and their arguments")]
pub enum Call {
    /// Nothing of the interface: it only takes the time of a call. True if it commands the interface.
    Nothing(bool),
    Init,
    Fini,
    Abort,
    NiInit {
        options: u32,
        pid: u32,
        desired: Option<Limits>,
    },
    NiFini(u32),
    SetMap(u32, Vec<ProcessId>),
    PtAlloc {
        ni: u32,
        options: u32,
        eq: u32,
        wish: u32,
    },
    PtFree(u32, u32),
    /// `PtlPTEnable` and `PtlPTDisable`.
    PtEnable {
        ni: u32,
        pt: u32,
        enabled: bool,
    },
    MdBind(u32, Md),
    MdRelease(u32),
    Append {
        at: TableEntry,
        me: Me,
        list: List,
        user_ptr: u64,
    },
    Unlink(u32),
    Search {
        at: TableEntry,
        me: Me,
        delete: bool,
        user_ptr: u64,
    },
    CtAlloc(u32),
    CtFree(u32),
    CtCancel(u32),
    /// `PtlCTSet` (`set`) and `PtlCTInc`.
    CtChange {
        ct: u32,
        by: Count,
        set: bool,
    },
    EqAlloc(u32, u64),
    EqFree(u32),
    Begin(Op),
    Triggered(Op, Trigger),
    /// `PtlTriggeredCTSet` (`set`) and `PtlTriggeredCTInc`.
    TriggeredCt {
        ct: u32,
        by: Count,
        set: bool,
        on: Trigger,
    },
    TriggeredAppend {
        at: TableEntry,
        me: Me,
        list: List,
        user_ptr: u64,
        on: Trigger,
    },
    TriggeredUnlink(u32, Trigger),
}

impl Call {
    /// True if it crosses the bus before it takes effect.
    #[must_use]
    pub fn commands(&self) -> bool {
        match self {
            Self::Nothing(commands) => *commands,
            Self::PtEnable { .. }
            | Self::Append { .. }
            | Self::Unlink(_)
            | Self::Search { .. }
            | Self::CtCancel(_)
            | Self::CtChange { .. }
            | Self::Begin(_)
            | Self::Triggered(..)
            | Self::TriggeredCt { .. }
            | Self::TriggeredAppend { .. }
            | Self::TriggeredUnlink(..) => true,
            _ => false,
        }
    }

    /// Handles that are asked with.
    pub fn handles(&mut self) -> Vec<&mut u32> {
        match self {
            Self::Nothing(_) | Self::Init | Self::Fini | Self::Abort | Self::NiInit { .. } => Vec::new(),
            Self::NiFini(h)
            | Self::SetMap(h, _)
            | Self::PtFree(h, _)
            | Self::PtEnable { ni: h, .. }
            | Self::MdRelease(h)
            | Self::Unlink(h)
            | Self::CtAlloc(h)
            | Self::CtFree(h)
            | Self::CtCancel(h)
            | Self::CtChange { ct: h, .. }
            | Self::EqAlloc(h, _)
            | Self::EqFree(h) => vec![h],
            Self::PtAlloc { ni, eq, .. } => vec![ni, eq],
            Self::MdBind(ni, md) => vec![ni, &mut md.eq, &mut md.ct],
            Self::Append { at, me, .. } | Self::Search { at, me, .. } => vec![&mut at.ni, &mut me.ct],
            Self::Begin(op) => vec![&mut op.put.0, &mut op.get.0],
            Self::Triggered(op, on) => vec![&mut op.put.0, &mut op.get.0, &mut on.counter],
            Self::TriggeredCt { ct, on, .. } | Self::TriggeredUnlink(ct, on) => vec![ct, &mut on.counter],
            Self::TriggeredAppend { at, me, on, .. } => vec![&mut at.ni, &mut me.ct, &mut on.counter],
        }
    }

    /// Array of pieces that it reads from memory: where, and how many.
    #[must_use]
    pub fn pieces(&self) -> Option<(u64, u64)> {
        let (options, start, length) = match self {
            Self::MdBind(_, md) => (md.options, md.start, md.length),
            Self::Append { me, .. } | Self::TriggeredAppend { me, .. } => (me.options, me.start, me.length),
            _ => return None,
        };
        (options & super::types::IOVEC != 0).then_some((start, length))
    }

    /// Asks a process: the handle or number that it gives, [`INVALID`] if it gives none.
    ///
    /// # Errors
    /// As the interface says; [`Call::NiInit`] is refused, since numbers of processes are the node's.
    pub fn ask(&self, of: &mut Process, memory: &mut dyn Memory) -> Answer<u32> {
        let none = |answer: Answer| answer.map(|()| INVALID);
        let closed = of.nis.iter().all(Option::is_none);
        debug_assert!(of.started > 0 || closed, "interfaces are open only while the library is started");
        match self {
            Self::Nothing(_) => Ok(INVALID),
            Self::Init => {
                of.started += 1;
                Ok(INVALID)
            }
            Self::Fini => {
                of.started = of.started.saturating_sub(1);
                if of.started == 0 {
                    of.nis = [None, None, None, None];
                }
                Ok(INVALID)
            }
            Self::Abort => {
                of.aborted = true;
                Ok(INVALID)
            }
            Self::NiInit { .. } => Err(Code::ArgInvalid),
            Self::NiFini(ni) => none(of.ni_fini(*ni)),
            Self::SetMap(ni, map) => none(of.set_map(*ni, map.clone())),
            Self::PtAlloc { ni, options, eq, wish } => of.pt_alloc(*ni, *options, *eq, *wish),
            Self::PtFree(ni, place) => none(of.pt_free(*ni, *place)),
            Self::PtEnable { ni, pt, enabled } => none(of.pt_enable(*ni, *pt, *enabled)),
            Self::MdBind(ni, md) => of.md_bind(*ni, md, memory),
            Self::MdRelease(md) => none(of.md_release(*md)),
            Self::Append { at, me, list, user_ptr } => of.append(*at, me, *list, *user_ptr, memory),
            Self::Unlink(entry) => none(of.entry_unlink(*entry)),
            Self::Search { at, me, delete, user_ptr } => none(of.search(*at, me, *delete, *user_ptr, memory)),
            Self::CtAlloc(ni) => of.ct_alloc(*ni),
            Self::CtFree(ct) => none(of.ct_free(*ct)),
            Self::CtCancel(ct) => none(of.ct_cancel(*ct)),
            Self::CtChange { ct, by, set } => none(of.ct_change(*ct, *by, *set, memory)),
            Self::EqAlloc(ni, count) => of.eq_alloc(*ni, *count),
            Self::EqFree(eq) => none(of.eq_free(*eq)),
            Self::Begin(op) => none(of.begin(op, memory)),
            Self::Triggered(op, on) => none(of.triggered(op.clone(), *on, memory)),
            Self::TriggeredCt { ct, by, set, on } => none(of.triggered_ct(*ct, *by, *set, *on, memory)),
            Self::TriggeredAppend { at, me, list, user_ptr, on } => {
                of.triggered_append(*at, me, *list, *user_ptr, *on, memory)
            }
            Self::TriggeredUnlink(entry, on) => none(of.triggered_unlink(*entry, *on, memory)),
        }
    }
}
