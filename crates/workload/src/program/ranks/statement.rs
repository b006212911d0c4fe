//! Statements as they are written; running a rank turns them into calls.

use super::expression::{Expression, Scope};
use crate::program::{
    ANY_TAG,
    mpi::{
        ANY_PEER, CollectiveKind, Comm, CommRank, MarkKind, Mode, OneSided, PROC_NULL, Request, TransferKind,
        Window,
    },
};
use base::{
    time::Ps,
    units::{MAX_BYTES, MAX_TIME},
};
use std::sync::Arc;

/// What a block holds: a call, or statements to be repeated; each with its line in the file, from 1.
#[derive(Debug)]
pub(super) enum Statement {
    Call(u32, Call),
    Repeat { line: u32, count: Expression, body: Vec<Statement> },
}

/// A number of bytes or picoseconds: an expression times a unit.
#[derive(Debug)]
pub(super) struct Quantity {
    pub(super) number: Expression,
    pub(super) unit: u64,
}

/// Items of a list; each several times, or up to another number.
#[derive(Debug)]
pub(super) struct Counts(pub(super) Vec<(Quantity, Expression)>);

/// Ranks: single ones, and from one to another.
#[derive(Debug)]
pub(super) struct Group(pub(super) Vec<(Expression, Expression)>);

/// The other rank.
#[derive(Debug)]
pub(super) enum Peer {
    Any,
    Null,
    Is(Expression),
}

/// One end of a message.
#[derive(Debug)]
pub(super) struct End {
    pub(super) peer: Peer,
    /// `None` is the word `any`, in receives alone; where no tag is written it is 0.
    pub(super) tag: Option<Expression>,
    pub(super) bytes: Quantity,
    pub(super) comm: Comm,
}

/// A call; requests are numbers of names.
#[derive(Debug)]
pub(super) enum Call {
    Compute(Quantity),
    Send(End, Mode),
    Recv(End),
    /// Requests without a name get one of their own.
    Isend(End, Mode, Option<Request>),
    Irecv(End, Option<Request>),
    SendRecv(End, End),
    SendInit(End, Mode, Request),
    RecvInit(End, Request),
    Start(Arc<[Request]>),
    Free(Request),
    Wait(Request),
    /// `None`: all that are open.
    Waitall(Option<Arc<[Request]>>),
    Waitany(Arc<[Request]>, Arc<[Request]>),
    Test(Arc<[Request]>),
    Probe(End),
    Collective(Box<Collective>),
    Dup(Comm, Comm),
    Split {
        comm: Comm,
        color: Option<Expression>,
        key: Expression,
        new: Comm,
    },
    Create {
        comm: Comm,
        group: Group,
        new: Comm,
    },
    /// A communicator that is there already.
    Define {
        group: Group,
        new: Comm,
    },
    FreeComm(Comm),
    /// A window is made on a communicator.
    Window(Comm, Window),
    OnWindow(Box<OnWindow>),
    /// No call: a name for a time line, and a number behind it; the end of a region has none.
    Mark(MarkKind, Arc<str>, Option<Expression>),
}

#[derive(Debug)]
pub(super) struct Collective {
    pub(super) kind: CollectiveKind,
    pub(super) comm: Comm,
    pub(super) root: Option<Expression>,
    pub(super) bytes: Option<Quantity>,
    pub(super) counts: Option<Counts>,
    pub(super) neighbours: Option<Group>,
    /// Set if it does not block.
    pub(super) request: Option<Option<Request>>,
}

/// A call on a window, whose number is that of its name.
#[derive(Debug)]
pub(super) struct OnWindow {
    pub(super) window: Window,
    pub(super) what: What,
}

/// What is done on it.
#[derive(Debug)]
pub(super) enum What {
    Free,
    /// A transfer; with the name of a request it opens that.
    Transfer(TransferKind, Quantity, Peer, Option<Request>),
    Fence,
    Post(Group),
    Start(Group),
    Complete,
    Wait,
    /// A lock; true if it is exclusive.
    Lock(Expression, bool),
    Unlock(Expression),
    LockAll,
    UnlockAll,
    /// One rank or all; true if transfers need only have ended here.
    Flush(Option<Expression>, bool),
}

impl OnWindow {
    /// The call that a rank makes.
    pub(super) fn call(&self, scope: &Scope<'_>) -> Result<OneSided, String> {
        let window = self.window;
        let peer = |peer: &Expression| rank(peer.value(scope)?, scope);
        Ok(match &self.what {
            What::Free => OneSided::Free(window),
            What::Transfer(kind, bytes, peer, request) => OneSided::Transfer {
                window,
                kind: *kind,
                peer: peer.value(scope)?,
                bytes: bytes.bytes(scope)?,
                request: *request,
            },
            What::Fence => OneSided::Fence(window),
            What::Post(ranks) => OneSided::Post(window, ranks.ranks(scope)?),
            What::Start(ranks) => OneSided::Start(window, ranks.ranks(scope)?),
            What::Complete => OneSided::Complete(window),
            What::Wait => OneSided::Wait(window),
            What::Lock(of, exclusive) => OneSided::Lock { window, peer: peer(of)?, exclusive: *exclusive },
            What::Unlock(of) => OneSided::Unlock(window, peer(of)?),
            What::LockAll => OneSided::LockAll(window),
            What::UnlockAll => OneSided::UnlockAll(window),
            What::Flush(of, local) => {
                OneSided::Flush { window, peer: of.as_ref().map(peer).transpose()?, local: *local }
            }
        })
    }
}

/// Most items of a list of counts; a list of ranks may have one more.
const MAX_LIST: u64 = 1 << 24;

impl Quantity {
    pub(super) fn bytes(&self, scope: &Scope<'_>) -> Result<u64, String> {
        self.value(scope, "a number of bytes", MAX_BYTES)
    }

    pub(super) fn time(&self, scope: &Scope<'_>) -> Result<Ps, String> {
        self.value(scope, "a time", MAX_TIME)
    }

    fn value(&self, scope: &Scope<'_>, what: &str, max: u64) -> Result<u64, String> {
        let number = self.number.value(scope)?;
        let number = u64::try_from(number).map_err(|_| format!("{what} cannot be negative ({number})"))?;
        number.checked_mul(self.unit).filter(|&v| v <= max).ok_or_else(|| format!("{what} is too large"))
    }
}

impl Counts {
    pub(super) fn values(&self, scope: &Scope<'_>) -> Result<Arc<[u64]>, String> {
        let mut values = Vec::new();
        for (quantity, times) in &self.0 {
            let (bytes, times) = (quantity.bytes(scope)?, times.value(scope)?);
            let times = u64::try_from(times).map_err(|_| format!("{times} times cannot be"))?;
            if values.len() as u64 + times > MAX_LIST {
                return Err("this list is too long".to_owned());
            }
            values.extend((0..times).map(|_| bytes));
        }
        Ok(values.into())
    }
}

impl Group {
    pub(super) fn ranks(&self, scope: &Scope<'_>) -> Result<Arc<[CommRank]>, String> {
        let mut ranks = Vec::new();
        for (from, to) in &self.0 {
            let (from, to) = (rank(from.value(scope)?, scope)?, rank(to.value(scope)?, scope)?);
            if ranks.len() as u64 + u64::from(to.number().saturating_sub(from.number())) > MAX_LIST {
                return Err("this list is too long".to_owned());
            }
            ranks.extend((from.number()..=to.number()).map(CommRank::new));
        }
        Ok(ranks.into())
    }
}

impl Peer {
    pub(super) fn value(&self, scope: &Scope<'_>) -> Result<CommRank, String> {
        match self {
            Self::Any => Ok(ANY_PEER),
            Self::Null => Ok(PROC_NULL),
            Self::Is(expression) => rank(expression.value(scope)?, scope),
        }
    }
}

/// A rank of the world; that of a smaller communicator is at least below that.
pub(super) fn rank(value: i64, scope: &Scope<'_>) -> Result<CommRank, String> {
    let size = scope.size;
    u32::try_from(value)
        .ok()
        .filter(|&r| r < size)
        .map(CommRank::new)
        .ok_or_else(|| format!("there is no rank {value}: the {size} ranks count from 0"))
}

pub(super) fn tag(tag: Option<&Expression>, scope: &Scope<'_>) -> Result<u32, String> {
    let Some(expression) = tag else { return Ok(ANY_TAG) };
    let value = expression.value(scope)?;
    let tag = u32::try_from(value).ok().filter(|&t| t != ANY_TAG);
    tag.ok_or_else(|| format!("tags are 0 to {}, this is {value}", ANY_TAG - 1))
}
