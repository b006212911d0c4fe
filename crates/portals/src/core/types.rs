//! Names and numbers of the Portals 4.3 interface. Structures have the layout of the C header, so that a program's memory can hold them.

use base::index::RankId;
use serde::{Deserialize, Serialize};

/// What a call returns. Numbers are those of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs, reason = "the names are the interface's")]
pub enum Code {
    ArgInvalid = 1,
    CtNoneReached = 2,
    EqDropped = 3,
    EqEmpty = 4,
    Fail = 5,
    Ignored = 6,
    InUse = 7,
    ListTooLong = 8,
    NoInit = 9,
    NoSpace = 10,
    PidInUse = 11,
    PtFull = 12,
    PtEqNeeded = 13,
    PtInUse = 14,
    Aborted = 15,
    Interrupted = 16,
}

/// What a call gives, or the code that it returns.
pub type Answer<T = ()> = Result<T, Code>;

/// How an operation fared at the other end, as events name it (`ptl_ni_fail_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are the interface's")]
pub enum Fail {
    #[default]
    Ok = 0,
    Undeliverable = 1,
    Dropped = 2,
    PtDisabled = 3,
    PermViolation = 4,
    OpViolation = 5,
    NoMatch = 6,
    Segv = 7,
}

/// Kinds of full events (`ptl_event_kind_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are the interface's")]
pub enum EventKind {
    #[default]
    Get = 0,
    GetOverflow = 1,
    Put = 2,
    PutOverflow = 3,
    Atomic = 4,
    AtomicOverflow = 5,
    FetchAtomic = 6,
    FetchAtomicOverflow = 7,
    Reply = 8,
    Send = 9,
    Ack = 10,
    PtDisabled = 11,
    Link = 12,
    AutoUnlink = 13,
    AutoFree = 14,
    Search = 15,
}

/// Acknowledgement that an operation asks for (`ptl_ack_req_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are the interface's")]
pub enum AckReq {
    #[default]
    None,
    Full,
    Counting,
    OperationComplete,
}

impl AckReq {
    /// From the header's number.
    ///
    /// # Errors
    /// [`Code::ArgInvalid`] beyond the last.
    pub fn from_number(n: u8) -> Answer<Self> {
        [Self::None, Self::Full, Self::Counting, Self::OperationComplete]
            .get(usize::from(n))
            .copied()
            .ok_or(Code::ArgInvalid)
    }
}

/// Which of the two lists of a portal table entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are the interface's")]
pub enum List {
    #[default]
    Priority = 0,
    Overflow = 1,
}

/// A process: (node, process) on a physical interface, (rank, 0) on a logical one (`ptl_process_t`, a union).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(C)]
pub struct ProcessId {
    /// Node, or rank.
    pub nid: u32,
    /// Process of the node.
    pub pid: u32,
}

/// `ptl_md_t`: a memory descriptor, as `PtlMDBind` takes it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(C)]
pub struct Md {
    /// First byte, or an array of [`Iovec`] with the option [`IOVEC`].
    pub start: u64,
    /// Bytes, or elements of that array.
    pub length: u64,
    /// Bits of [`md`], and [`IOVEC`].
    pub options: u32,
    /// Where events go; [`EQ_NONE`].
    pub eq: u32,
    /// What counts; [`CT_NONE`].
    pub ct: u32,
}

/// `ptl_iovec_t`: a piece of a scatter-gather list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct Iovec {
    /// Address of its first byte.
    pub base: u64,
    /// Bytes from there on.
    pub length: u64,
}

/// `ptl_le_t`: a list entry without matching, as `PtlLEAppend` takes it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Le {
    /// First byte, or an array of [`Iovec`]: as [`Md::start`].
    pub start: u64,
    /// Bytes, or elements of that array: as [`Md::length`].
    pub length: u64,
    /// Handle of the counter; [`CT_NONE`] for none.
    pub ct: u32,
    /// Who may use it; [`UID_ANY`].
    pub uid: u32,
    /// Bits of [`me`], and [`IOVEC`]; [`me::ALL_LE`] has them all.
    pub options: u32,
}

/// `ptl_me_t`: a list entry with matching, as `PtlMEAppend` takes it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[repr(C)]
pub struct Me {
    /// First byte, or an array of [`Iovec`]: as [`Md::start`].
    pub start: u64,
    /// Bytes, or elements of that array: as [`Md::length`].
    pub length: u64,
    /// Handle of the counter; [`CT_NONE`] for none.
    pub ct: u32,
    /// Who may use it; [`UID_ANY`].
    pub uid: u32,
    /// Bits of [`me`], and [`IOVEC`]; [`me::ALL_ME`] has them all.
    pub options: u32,
    /// Whose messages match.
    pub match_id: ProcessId,
    /// Bits that must agree.
    pub match_bits: u64,
    /// Bits that need not.
    pub ignore_bits: u64,
    /// With a locally managed offset: the entry is unlinked once fewer bytes are free.
    pub min_free: u64,
}

/// Where an object is, as those keep it who have no handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// Place among the objects of its kind.
    pub place: u16,
    /// Generation of the place: of another one the object is gone.
    pub generation: u16,
}

/// An entry of a portal table, as a call names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableEntry {
    /// Handle of the interface that has the table.
    pub ni: u32,
    /// Index in the table.
    pub pt: u32,
}

/// `ptl_ct_event_t`: what a counter shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct Count {
    /// Operations or bytes that succeeded.
    pub success: u64,
    /// Operations that failed.
    pub failure: u64,
}

/// `ptl_event_t`: what a queue holds of each event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the names are the interface's")]
pub struct Event {
    pub start: u64,
    pub user_ptr: u64,
    pub hdr_data: u64,
    pub match_bits: u64,
    pub rlength: u64,
    pub mlength: u64,
    pub remote_offset: u64,
    pub initiator: ProcessId,
    pub uid: u32,
    pub pt_index: u32,
    pub kind: EventKind,
    pub list: List,
    pub fail: Fail,
    pub operation: u8,
    pub datatype: u8,
}

/// `ptl_ni_limits_t`: sizes that a process wishes for and an interface grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
#[allow(missing_docs, reason = "the names are the interface's")]
pub struct Limits {
    pub max_entries: i32,
    pub max_unexpected_headers: i32,
    pub max_mds: i32,
    pub max_cts: i32,
    pub max_eqs: i32,
    pub max_pt_index: i32,
    pub max_iovecs: i32,
    pub max_list_size: i32,
    pub max_triggered_ops: i32,
    pub max_msg_size: u64,
    pub max_atomic_size: u64,
    pub max_fetch_atomic_size: u64,
    pub max_waw_ordered_size: u64,
    pub max_war_ordered_size: u64,
    pub max_volatile_size: u64,
    pub features: u32,
}

impl Default for Limits {
    /// Those of a BXI interface, but for scatter-gather lists, which that lacks, and larger fetching atomics.
    fn default() -> Self {
        Self {
            max_entries: 16_319,
            max_unexpected_headers: 16_319,
            max_mds: 8_191,
            max_cts: 2_047,
            max_eqs: 2_046,
            max_pt_index: 255,
            max_iovecs: 1_024,
            max_list_size: 65_535,
            max_triggered_ops: 16_378,
            max_msg_size: 64 << 20,
            max_atomic_size: 1_024,
            max_fetch_atomic_size: 1_024,
            max_waw_ordered_size: 64 << 20,
            max_war_ordered_size: 64 << 20,
            max_volatile_size: 64,
            features: 7,
        }
    }
}

/// What every interface has, whatever is asked for (Portals 4, `ptl_ni_limits_t`): 64 entries of the portal table; bytes of ordered
/// writes after writes and after reads; one operand of the widest datatype.
const LEAST_PT_INDEX: i32 = 63;
const LEAST_WAW: u64 = 64;
const LEAST_WAR: u64 = 8;
const LEAST_FETCH: u64 = 32;

impl Limits {
    /// What is granted to who wishes for `desired`: no more than `self`, no less than the least that every interface has, and the
    /// features that were asked for. Of triggered operations and atomics a wish of 0 is none, so that programs which clear the
    /// structure and fill in what they know can use them.
    #[must_use]
    pub fn grant(&self, desired: &Self) -> Self {
        let int = |most: i32, wish: i32| wish.clamp(0, most);
        let triggered = if desired.max_triggered_ops == 0 { i32::MAX } else { desired.max_triggered_ops };
        let atomic = if desired.max_atomic_size == 0 { u64::MAX } else { desired.max_atomic_size };
        Self {
            max_entries: int(self.max_entries, desired.max_entries),
            max_unexpected_headers: int(self.max_unexpected_headers, desired.max_unexpected_headers),
            max_mds: int(self.max_mds, desired.max_mds),
            max_cts: int(self.max_cts, desired.max_cts),
            max_eqs: int(self.max_eqs, desired.max_eqs),
            max_pt_index: int(self.max_pt_index, desired.max_pt_index.max(LEAST_PT_INDEX)),
            max_iovecs: int(self.max_iovecs, desired.max_iovecs),
            max_list_size: int(self.max_list_size, desired.max_list_size),
            max_triggered_ops: int(self.max_triggered_ops, triggered),
            max_msg_size: self.max_msg_size.min(desired.max_msg_size),
            max_atomic_size: self.max_atomic_size.min(atomic),
            max_fetch_atomic_size: self
                .max_fetch_atomic_size
                .min(desired.max_fetch_atomic_size.max(LEAST_FETCH)),
            max_waw_ordered_size: self.max_waw_ordered_size.min(desired.max_waw_ordered_size.max(LEAST_WAW)),
            max_war_ordered_size: self.max_war_ordered_size.min(desired.max_war_ordered_size.max(LEAST_WAR)),
            max_volatile_size: self.max_volatile_size.min(desired.max_volatile_size),
            features: self.features & desired.features,
        }
    }
}

/// No event queue.
pub const EQ_NONE: u32 = 0x3fff_ffff;
/// `PTL_CT_NONE`, in place of a counter's handle: nothing is counted.
pub const CT_NONE: u32 = 0x5fff_ffff;
/// `PTL_INVALID_HANDLE`: a handle that names nothing.
pub const INVALID: u32 = 0xffff_ffff;
/// `PTL_UID_ANY`: an entry that any user may use.
pub const UID_ANY: u32 = u32::MAX;
/// Any entry of the portal table.
pub const PT_ANY: u32 = u32::MAX;
/// `PTL_RANK_ANY`: an entry that matches any rank; also the own rank where there is no map.
pub const RANK_ANY: u32 = u32::MAX;
/// `PTL_NID_ANY`: an entry that matches any node.
pub const NID_ANY: u32 = 0xffff;
/// `PTL_PID_ANY`: an entry that matches any process of a node; of `PtlNIInit`, the number does not matter.
pub const PID_ANY: u32 = 0xffff;
/// Processes of a node are numbered below this.
pub const PID_MAX: u32 = 1024;
/// A poll that ends by an event alone.
pub const TIME_FOREVER: u32 = u32::MAX;

/// Options of an interface: one of the first two bits, and one of the others.
pub mod ni {
    /// Match list entries.
    pub const MATCHING: u32 = 1;
    /// List entries without matching.
    pub const NO_MATCHING: u32 = 2;
    /// Processes are ranks.
    pub const LOGICAL: u32 = 4;
    /// Processes are (node, process).
    pub const PHYSICAL: u32 = 8;
}

/// Options of a portal table entry.
pub mod pt {
    /// All its entries are used once: a hint.
    pub const ONLY_USE_ONCE: u32 = 1;
    /// Lack of a resource disables it instead of losing messages.
    pub const FLOWCTRL: u32 = 2;
    /// No entry refuses to truncate: a hint.
    pub const ONLY_TRUNCATE: u32 = 4;
    /// The order of matching is free: a hint that is not used.
    pub const MATCH_UNORDERED: u32 = 8;
    /// It begins disabled.
    pub const ALLOC_DISABLED: u32 = 16;
    /// All of them.
    pub const ALL: u32 = 31;
}

/// Memory is given by an array of [`Iovec`].
pub const IOVEC: u32 = 1;

/// Options of memory descriptors.
pub mod md {
    /// Count operations whose data have been sent.
    pub const CT_SEND: u32 = 1 << 1;
    /// Count replies that have arrived: gets, fetching atomics, swaps.
    pub const CT_REPLY: u32 = 1 << 2;
    /// Count acknowledgements that have arrived, of every kind.
    pub const CT_ACK: u32 = 1 << 3;
    /// Its messages may overtake each other.
    pub const UNORDERED: u32 = 1 << 4;
    /// No events of success.
    pub const SUCCESS_DISABLE: u32 = 1 << 5;
    /// Small messages are read at once: the memory may change when the call returns.
    pub const VOLATILE: u32 = 1 << 6;
    /// No SEND events.
    pub const SEND_DISABLE: u32 = 1 << 7;
    /// Lost messages stay lost.
    pub const UNRELIABLE: u32 = 1 << 8;
    /// Count bytes that were moved in place of operations; a failure still counts as one.
    pub const CT_BYTES: u32 = 1 << 14;
    /// All of them.
    pub const ALL: u32 = ((1 << 9) - 1) | CT_BYTES;
}

/// Options of list entries.
pub mod me {
    /// Takes puts and atomics.
    pub const OP_PUT: u32 = 1 << 1;
    /// Takes gets and fetching atomics.
    pub const OP_GET: u32 = 1 << 2;
    /// Unlinked by its first message.
    pub const USE_ONCE: u32 = 1 << 3;
    /// Messages that it takes on the overflow list leave no header.
    pub const UNEXPECTED_HDR_DISABLE: u32 = 1 << 4;
    /// Its memory can be accessed: a hint.
    pub const IS_ACCESSIBLE: u32 = 1 << 5;
    /// No LINK event.
    pub const LINK_DISABLE: u32 = 1 << 6;
    /// No events of communication.
    pub const COMM_DISABLE: u32 = 1 << 7;
    /// No events of flow control.
    pub const FLOWCTRL_DISABLE: u32 = 1 << 8;
    /// No events of success.
    pub const SUCCESS_DISABLE: u32 = 1 << 9;
    /// No overflow events.
    pub const OVER_DISABLE: u32 = 1 << 10;
    /// No AUTO_UNLINK and AUTO_FREE events.
    pub const UNLINK_DISABLE: u32 = 1 << 11;
    /// Count the messages that the entry takes.
    pub const CT_COMM: u32 = 1 << 12;
    /// Count overflow events.
    pub const CT_OVERFLOW: u32 = 1 << 13;
    /// Count bytes that were moved in place of messages; a failure still counts as one.
    pub const CT_BYTES: u32 = 1 << 14;
    /// The entry keeps the offset.
    pub const MANAGE_LOCAL: u32 = 1 << 15;
    /// Messages that do not fit do not match.
    pub const NO_TRUNCATE: u32 = 1 << 16;
    /// Data may be aligned: a hint that is not used.
    pub const MAY_ALIGN: u32 = 1 << 17;
    /// Unexpected headers move the local offset when the entry is appended.
    pub const LOCAL_INC_UH_RLENGTH: u32 = 1 << 18;
    /// Sends no acknowledgement (4.2).
    pub const ACK_DISABLE: u32 = 1 << 19;
    /// All of an LE.
    pub const ALL_LE: u32 = ((1 << 15) - 1) | ACK_DISABLE;
    /// All of an ME.
    pub const ALL_ME: u32 = (1 << 20) - 1;
}

/// Memory of a process could not be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault;

/// Memory of processes, by address.
pub trait Memory {
    /// From now on addresses are those that this rank names.
    fn of(&mut self, _rank: RankId) {}
    /// Reads bytes of the process from an address on.
    ///
    /// # Errors
    /// If a byte is not readable.
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault>;
    /// Writes bytes of the process from an address on.
    ///
    /// # Errors
    /// If a byte is not writable.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault>;
}
