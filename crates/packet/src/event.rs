//! What happens in a partition: names that order ties ([`Name`]), and alarms ([`Alarm`]).
//!
//! A name is 64 bits: four of its kind, 28 of a place (link, router or terminal, by its number in the network), 32 that distinguish
//! what one place has pending. Names are an enum with explicit values, so the compiler refuses two of one value:
//!
//! ```compile_fail,E0081
//! #[repr(u8)]
//! enum Name {
//!     Arrival = 0,
//!     Bypass = 0,
//! }
//! ```
//!
//! Names are hashed into the order of simultaneous events, so a kind that changes its value changes results. Kinds that came first have
//! even values; the lowest bit marks later ones.

use crate::places::LocalPort;
use model::failure::Failure;

/// Bits of a place in a name, and of an object in an alarm.
const PLACE_BITS: u32 = 28;
/// One more than the largest place.
pub const PLACES: u64 = 1 << PLACE_BITS;
const PLACE: u32 = (1 << PLACE_BITS) - 1;

/// Kinds of names, each with what its place and number are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Name {
    /// The first chunk on a link arrives, here or in another partition: link, number of the chunk on it.
    Arrival = 0,
    /// A terminal hands over past the network: terminal.
    Bypass = 1,
    /// A predicted packet arrives: source terminal, number there.
    Prediction = 2,
    /// An output of a router does something of its architecture: link.
    Output = 4,
    /// A transport's timer ends: terminal, number of the packet.
    Timer = 5,
    /// A port informs another partition, or itself, what started: link.
    Tick = 6,
    /// A transport begins messages: terminal, count of its names.
    Offer = 7,
    /// A router does something of its architecture: router.
    Router = 8,
    /// All routers of a partition do: no place.
    Routers = 9,
    /// A credit that another partition sent: link, count.
    Credit = 10,
    /// An acknowledgement beside the network: terminal, count of its names.
    Ack = 11,
    /// A rank begins, or a processor is done: terminal, processor (all ones: it begins).
    Rank = 12,
    /// Queues are published: no place.
    Publication = 13,
    /// What goes ahead of a message: source terminal, count of its posts.
    Envelope = 14,
    /// A source hears of congestion: terminal that saw it, count of its notifications.
    Notice = 15,
}

impl Name {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Arrival,
        Self::Bypass,
        Self::Prediction,
        Self::Output,
        Self::Timer,
        Self::Tick,
        Self::Offer,
        Self::Router,
        Self::Routers,
        Self::Credit,
        Self::Ack,
        Self::Rank,
        Self::Publication,
        Self::Envelope,
        Self::Notice,
    ];

    /// The name of something of this kind, for the order of ties: different for every kind, place and number.
    #[inline]
    #[must_use]
    pub fn of(self, place: u32, number: u32) -> u64 {
        debug_assert!(place <= PLACE, "larger networks are refused");
        (self as u64) << 60 | u64::from(place) << 32 | u64::from(number)
    }

    /// The name of something that a partition has one of.
    #[inline]
    #[must_use]
    pub fn only(self) -> u64 {
        // Clocked routers were first, and stood at the end of all places.
        let place = if self == Self::Routers { PLACE } else { 0 };
        self.of(place, 0)
    }
}

/// What an alarm of a router's architecture is about. One kind of alarm: an architecture tells its own apart by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouterAlarm {
    /// An output, by its local port.
    Output(LocalPort),
    /// A router, by its local number.
    Router(u32),
    /// All routers of the partition.
    All,
}

/// An alarm of a partition: what it is for and about which of its objects, by local number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// The first chunk on a port's link arrives.
    Pull(LocalPort),
    /// A port reports what started.
    Tick(LocalPort),
    /// A router's architecture set it.
    Router(RouterAlarm),
    /// Queues are published.
    Publish,
    /// A processor of a rank.
    Rank(u32),
    /// A terminal hands over past the network.
    Bypass(u32),
    /// A terminal's transport begins messages.
    Offer(u32),
    /// A timer of a transport.
    Timer(u32),
}

/// Tokens of alarms: the kind in the bits above the object.
#[repr(u32)]
enum Token {
    Pull = 0,
    Output = 1,
    Tick = 2,
    Router = 3,
    Publish = 4,
    Rank = 5,
    Bypass = 6,
    Transport = 7,
}

/// Marks timers among the alarms of transports.
const TIMER: u32 = 1 << 27;
/// In place of a router: all of them.
const ALL: u32 = PLACE;

impl Alarm {
    /// As the engine keeps it: 31 bits.
    #[inline]
    #[must_use]
    pub fn token(self) -> u32 {
        debug_assert!(
            !matches!(self, Self::Offer(number) | Self::Timer(number) if number >= TIMER),
            "larger networks with transports are refused"
        );
        let (kind, object) = match self {
            Self::Pull(port) => (Token::Pull, port.number()),
            Self::Tick(port) => (Token::Tick, port.number()),
            Self::Router(RouterAlarm::Output(port)) => (Token::Output, port.number()),
            Self::Router(RouterAlarm::Router(router)) => (Token::Router, router),
            Self::Router(RouterAlarm::All) => (Token::Router, ALL),
            Self::Publish => (Token::Publish, 0),
            Self::Rank(cpu) => (Token::Rank, cpu),
            Self::Bypass(terminal) => (Token::Bypass, terminal),
            Self::Offer(terminal) => (Token::Transport, terminal),
            Self::Timer(timer) => (Token::Transport, TIMER | timer),
        };
        debug_assert!(object <= PLACE, "larger networks are refused");
        (kind as u32) << PLACE_BITS | object
    }

    /// The port, if it is a pull: asked ahead of the event, where nothing else matters.
    #[inline]
    #[must_use]
    pub fn pull(token: u32) -> Option<LocalPort> {
        (token < 1 << PLACE_BITS).then_some(LocalPort::new(token))
    }

    /// The alarm of a token.
    #[inline]
    #[must_use]
    pub fn of(token: u32) -> Self {
        // The numbers of [`Token`], as patterns.
        const PULL: u32 = Token::Pull as u32;
        const OUTPUT: u32 = Token::Output as u32;
        const TICK: u32 = Token::Tick as u32;
        const ROUTER: u32 = Token::Router as u32;
        const PUBLISH: u32 = Token::Publish as u32;
        const RANK: u32 = Token::Rank as u32;
        const BYPASS: u32 = Token::Bypass as u32;
        const TRANSPORT: u32 = Token::Transport as u32;
        debug_assert!(token >> 31 == 0, "tokens have 31 bits");
        let object = token & PLACE;
        match token >> PLACE_BITS {
            PULL => Self::Pull(LocalPort::new(object)),
            OUTPUT => Self::Router(RouterAlarm::Output(LocalPort::new(object))),
            TICK => Self::Tick(LocalPort::new(object)),
            ROUTER if object == ALL => Self::Router(RouterAlarm::All),
            ROUTER => Self::Router(RouterAlarm::Router(object)),
            PUBLISH => Self::Publish,
            RANK => Self::Rank(object),
            BYPASS => Self::Bypass(object),
            TRANSPORT if object & TIMER != 0 => Self::Timer(object & !TIMER),
            TRANSPORT => Self::Offer(object),
            _ => unreachable!("tokens have 31 bits"),
        }
    }
}

/// Refuses networks whose links, or whose transports' terminals, names cannot tell apart.
///
/// # Errors
/// [`Failure::Setup`] with the number and the bound.
pub fn refuse(links: u64, terminals: u64, transport: bool) -> Result<(), Failure> {
    if links >= PLACES {
        let why = format!("the network has {links} directed links; fewer than {PLACES} can be numbered");
        return Err(Failure::Setup(why));
    }
    if transport && terminals >= u64::from(TIMER) {
        let why = format!("the network has {terminals} terminals; [resilience] numbers fewer than {TIMER}");
        return Err(Failure::Setup(why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::sorted::SortedSet;

    const EDGES: [u32; 5] = [0, 1, 77, PLACE - 1, PLACE];
    const NUMBERS: [u32; 4] = [0, 1, u32::MAX - 1, u32::MAX];

    /// How many kinds, places and numbers share a name with another.
    fn clashes(name: impl Fn(Name, u32, u32) -> u64) -> usize {
        let mut names = SortedSet::new();
        let all = Name::ALL.iter().flat_map(|&k| EDGES.iter().flat_map(move |&p| NUMBERS.map(|n| (k, p, n))));
        all.filter(|&(k, p, n)| !names.insert(name(k, p, n))).count()
    }

    #[test]
    fn no_two_events_share_a_name() {
        assert_eq!(clashes(Name::of), 0);
        // What was once so: hand-overs past the network named as pulls.
        let planted = |kind: Name, place, number| match kind {
            Name::Bypass => Name::Arrival.of(place, number),
            kind => kind.of(place, number),
        };
        assert_eq!(clashes(planted), EDGES.len() * NUMBERS.len());
    }

    /// They decide ties: results hang on these numbers.
    #[test]
    fn names_are_those_of_old() {
        let values = Name::ALL.map(|k| k as u64);
        assert_eq!(values, [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(Name::Credit.of(3, 9), 5 << 61 | 3 << 32 | 9);
        assert_eq!(Name::Timer.of(3, 9), 2 << 61 | (1 << 28 | 3) << 32 | 9);
        assert_eq!(Name::Routers.only(), 4 << 61 | ((1 << 29) - 1) << 32);
        assert_eq!(Name::Publication.only(), 13 << 60);
    }

    #[test]
    fn alarms_are_read_as_they_were_set() {
        let objects = [0, 1, 12_345, (1 << 27) - 1];
        let of = |n: u32| {
            [
                Alarm::Pull(LocalPort::new(n)),
                Alarm::Tick(LocalPort::new(n)),
                Alarm::Router(RouterAlarm::Output(LocalPort::new(n))),
                Alarm::Router(RouterAlarm::Router(n)),
                Alarm::Router(RouterAlarm::All),
                Alarm::Publish,
                Alarm::Rank(n),
                Alarm::Bypass(n),
                Alarm::Offer(n),
                Alarm::Timer(n),
            ]
        };
        for alarm in objects.into_iter().flat_map(of) {
            assert_eq!(Alarm::of(alarm.token()), alarm);
            assert_eq!(
                Alarm::pull(alarm.token()).map(Alarm::Pull),
                Some(alarm).filter(|a| matches!(a, Alarm::Pull(_)))
            );
        }
    }

    #[test]
    fn what_cannot_be_numbered_is_refused_by_name() {
        assert!(refuse(PLACES - 1, 1 << 20, true).is_ok());
        let reported = |r: Result<(), Failure>| r.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(reported(refuse(PLACES, 1, false)).contains("directed links"));
        assert!(refuse(1, 1 << 27, false).is_ok());
        assert!(reported(refuse(1, 1 << 27, true)).contains("terminals"));
    }
}
