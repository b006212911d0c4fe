//! Incast: many send to one at once.

use super::{COUNT, Destinations, open_loop};
use crate::work::{Built, JobContext, Work};
use base::{
    index::RankId,
    param::{Kind, Param, Problem, Values},
    registry::About,
};

pub(crate) const ABOUT: About = About {
    name: "incast",
    summary: "many ranks to one, at the same instants",
    doc: "The first `senders` ranks beside the receiver send to it, and all others are silent. With `arrival = \"constant\"`, the default, all of them send at the same \
          instant, over and over: the answers to a query. `load` is that of a sender's link, so the receiver is offered `senders` times as much, and a burst comes each \
          message / (load * bandwidth). Other arrivals are independent by sender.",
    source: "Alizadeh et al.: Data Center TCP (DCTCP), SIGCOMM 2010, section 2.3; Li et al.: HPCC, SIGCOMM 2019, section 5.3",
    params: &[
        Param {
            name: "senders",
            kind: Kind::Int { min: 0, max: u32::MAX as u64 },
            default: Some("0"),
            doc: "ranks that send; 0: all but the receiver",
        },
        Param {
            name: "receiver",
            kind: Kind::Int { min: 0, max: u32::MAX as u64 },
            default: Some("0"),
            doc: "rank that they send to",
        },
        COUNT,
    ],
};

struct Incast {
    senders: u32,
    receiver: RankId,
}

impl Destinations for Incast {
    #[inline]
    fn destination(&self, _rank: RankId, _index: u64) -> RankId {
        self.receiver
    }

    #[inline]
    fn silent(&self, rank: RankId) -> bool {
        let before = u32::from(rank > self.receiver);
        rank == self.receiver || rank.number() - before >= self.senders
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Work> {
    context.need_two_ranks()?;
    let (senders, receiver) = (values.int("senders"), values.int("receiver"));
    let others = u64::from(context.ranks - 1);
    if receiver > others {
        let message = format!("there is no rank {receiver}: the job has {}, from 0", context.ranks);
        return Err(vec![Problem::new("receiver", message)]);
    }
    if senders > others {
        let message = format!("there are {others} ranks beside the receiver");
        return Err(vec![Problem::new("senders", message)]);
    }
    let senders = if senders == 0 { others } else { senders };
    let rule = Incast { senders: senders as u32, receiver: RankId::new(receiver as u32) };
    open_loop(context, values, rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, defaults};
    use base::param::Value;

    /// Three of five send to rank 1, all at the instants of one; the receiver is offered three times the load.
    #[test]
    fn senders_meet_at_the_receiver() {
        let values = defaults(&ABOUT).with("senders", Value::Int(3)).with("receiver", Value::Int(1));
        let traffic = build(&context(5), &values).unwrap().into_traffic().unwrap();
        let of = |rank, index| traffic.message(RankId::new(rank), index, 0);
        for index in 0..3 {
            let sent = of(0, index).expect("it sends");
            assert_eq!(
                (sent.destination, of(2, index), of(3, index)),
                (RankId::new(1), Some(sent), Some(sent))
            );
        }
        assert_eq!((of(1, 0), of(4, 0)), (None, None));
        assert_eq!(traffic.offered_bytes_per_s(), Some(f64::from(1u32 << 31) * 3.0 / 5.0));
    }

    #[test]
    fn ranks_that_are_not_there_are_refused() {
        for (key, value) in [("senders", 5), ("receiver", 5)] {
            let values = defaults(&ABOUT).with(key, Value::Int(value));
            assert_eq!(build(&context(5), &values).err().unwrap()[0].key, key);
        }
    }
}
