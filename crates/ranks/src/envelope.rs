//! What travels beside the bytes of a rank's message, on every model that carries messages through a network.

use super::{carrier::Ahead, roster::GlobalRank};

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A whole message.
    Eager,
    /// Announces a message that is larger than `eager`.
    Request,
    /// Allows it: the one that goes from the receiver to the sender.
    Grant,
    /// The message itself.
    Data,
}

/// What ranks must know of a message beside its bytes. Ranks are counted over all jobs, operations within their rank: that means the same in every partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// What it is for.
    pub role: Role,
    /// Matching context of the send.
    pub context: u32,
    /// Tag of the send, by which receives match.
    pub tag: u32,
    /// Bytes of the message itself.
    pub bytes: u64,
    /// Position among the eager messages and requests of its pair of ranks.
    pub sequence: u32,
    /// Rank that sends the message itself.
    pub from: GlobalRank,
    /// Rank that receives it.
    pub to: GlobalRank,
    /// Number of the send.
    pub send: u32,
    /// Number of the receive, once it is known (grants, data).
    pub receive: u32,
    /// The request was there before its receive (grants, data).
    pub late: bool,
}

const ROLES: [Role; 4] = [Role::Eager, Role::Request, Role::Grant, Role::Data];

fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

impl From<Envelope> for Ahead {
    #[inline]
    fn from(e: Envelope) -> Self {
        Self([
            e.bytes,
            pair(e.context, e.tag),
            pair(e.sequence, e.role as u32 | u32::from(e.late) << 8),
            pair(e.from.number(), e.to.number()),
            pair(e.send, e.receive),
        ])
    }
}

impl From<Ahead> for Envelope {
    #[inline]
    fn from(Ahead([bytes, label, order, ranks, operations]): Ahead) -> Self {
        let (role, late) = ((order >> 32) as usize & 0xff, order >> 40 == 1);
        debug_assert!(role < ROLES.len() && order >> 40 < 2, "a message has one of the roles");
        Self {
            role: ROLES[role % ROLES.len()],
            context: label as u32,
            tag: (label >> 32) as u32,
            bytes,
            sequence: order as u32,
            from: GlobalRank::new(ranks as u32),
            to: GlobalRank::new((ranks >> 32) as u32),
            send: operations as u32,
            receive: (operations >> 32) as u32,
            late,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_ahead_is_what_arrives() {
        for role in ROLES {
            let envelope = Envelope {
                role,
                context: u32::MAX,
                tag: 2,
                bytes: u64::MAX,
                sequence: u32::MAX - 1,
                from: GlobalRank::new(5),
                to: GlobalRank::new(u32::MAX - 2),
                send: 7,
                receive: u32::MAX,
                late: role == Role::Data,
            };
            assert_eq!(Envelope::from(Ahead::from(envelope)), envelope);
        }
    }
}
