//! Wrong rules.

/// A wrong rule, to see that the cases find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// What waits for an operation of an earlier batch is freed in reverse order.
    ReversedBatches,
    /// A join of any waits for all that is not over when its batch is read.
    AnyIsAll,
    /// Receives that become executable with sends come before them.
    ReceivesFirst,
    /// A message takes the receive that was posted last.
    LastPosted,
    /// A receive takes the message that came last.
    NewestMessage,
    /// A message prefers a receive without wildcards.
    DefiniteFirst,
    /// A receive of any tag takes messages of other contexts.
    ContextsMix,
    /// What is put back goes behind what was created meanwhile.
    BlockedLoseTheirPlace,
    /// The end of a rendezvous leaves the sender's interface alone.
    SenderKeepsItsInterface,
    /// A message is taken in by the receiver's first processor.
    FirstProcessor,
    /// One clock for both directions of an interface.
    HalfDuplex,
    /// Every byte costs, the first too.
    FirstByteCosts,
    /// A message of exactly S bytes waits for its receiver.
    EagerBelow,
    /// Synchronous sends of few bytes are over at once.
    SynchronousIsEager,
    /// The end of a receive is the arrival.
    FreeReceives,
    /// A probe takes its message.
    ProbesTake,
    /// A short message overtakes a long one.
    Overtaking,
    /// What is created at the same time comes in the order of ranks, not of its creators.
    CreatorsForgotten,
    /// All jobs start at once.
    OneStart,
}

/// All wrong rules.
pub const FAULTS: [Fault; 19] = [
    Fault::ReversedBatches,
    Fault::AnyIsAll,
    Fault::ReceivesFirst,
    Fault::LastPosted,
    Fault::NewestMessage,
    Fault::DefiniteFirst,
    Fault::ContextsMix,
    Fault::BlockedLoseTheirPlace,
    Fault::SenderKeepsItsInterface,
    Fault::FirstProcessor,
    Fault::HalfDuplex,
    Fault::FirstByteCosts,
    Fault::EagerBelow,
    Fault::SynchronousIsEager,
    Fault::FreeReceives,
    Fault::ProbesTake,
    Fault::Overtaking,
    Fault::CreatorsForgotten,
    Fault::OneStart,
];
