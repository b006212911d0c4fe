//! Keys of `[model]` and `[[job]]` that programs need on every model that carries their messages through a network.

use base::param::{Kind, Param};

/// Largest message that is sent at once.
pub const EAGER: Param = Param {
    name: "eager",
    kind: Kind::Bytes,
    default: Some("64 KiB"),
    doc: "Programs: largest message that is sent at once; a larger one is announced by a request and follows when a receive \
          has granted it (rendezvous).",
};

/// Bytes of a request or grant.
pub const CONTROL: Param = Param {
    name: "control",
    kind: Kind::Bytes,
    default: Some("16 B"),
    doc: "Programs: bytes of a request or grant of the rendezvous protocol.",
};

/// Time of the processor for a send or receive.
pub const OVERHEAD: Param = Param {
    name: "overhead",
    kind: Kind::Time,
    default: Some("0 s"),
    doc: "Programs: time that a rank's processor takes for each send, before it, and each receive, after it (o of LogGP).",
};

/// Ranks of a program that share a terminal.
pub const RANKS_PER_TERMINAL: Param = Param {
    name: "ranks_per_terminal",
    kind: Kind::Int { min: 1, max: 1 << 16 },
    default: Some("1"),
    doc: "Programs on models `delay`, `packet`, `flow` and `hybrid`: so many ranks, one after the other, share a terminal; the placement says where each \
          group of them is. Messages within a terminal cross no links; what they take, and which processors the ranks share, [node] says.",
};
