//! Spans of time out of a run of flows, with what flowed in them.

use base::{
    hash::mix64,
    index::{RankId, TerminalId},
    time::Ps,
};
use model::setup::JobSetup;
use results::table::{Column, Table};
use std::sync::Arc;
use workload::{
    registry::Work,
    traffic::{Message, Traffic},
};

/// The most spans that are drawn.
const MOST: u64 = 8;

/// A span is no shorter than so many mean completion times, if there is room: with shorter ones their beginnings weigh too much, when queues are empty
/// and the first packets of all meet.
const LATENCIES: f64 = 2.0;

/// A message of a finished run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flowed {
    /// Terminal that it comes from.
    pub source: u32,
    /// Terminal that it is for.
    pub destination: u32,
    /// When it was sent.
    pub created: Ps,
    /// When it was whole.
    pub delivered: Ps,
    /// Its payload in bytes.
    pub bytes: u64,
}

/// What of a message flowed in a span, which is sent as a message of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Terminal that it comes from.
    pub source: u32,
    /// Terminal that it is for.
    pub destination: u32,
    /// When it is sent, after the beginning of the span.
    pub time: Ps,
    /// Its payload in bytes.
    pub bytes: u64,
}

/// A part of a run's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// When it begins, which is in it.
    pub from: Ps,
    /// Its end, which is not in it.
    pub to: Ps,
}

/// The messages of a run's table that crossed the network; none if it is no such table.
#[must_use]
pub fn flowed(table: &Table) -> Option<Vec<Flowed>> {
    let (sources, destinations) = (table.u32_column("source")?, table.u32_column("destination")?);
    let (created, delivered) = (table.u64_column("created_ps")?, table.u64_column("delivered_ps")?);
    let Column::U64(bytes) = table.column("bytes")? else { return None };
    let row = |n: usize| Flowed {
        source: sources[n],
        destination: destinations[n],
        created: created[n],
        delivered: delivered[n],
        bytes: bytes[n],
    };
    Some((0..table.rows()).map(row).filter(|m| m.source != m.destination).collect())
}

/// What flowed in a span, in the order of times: of each message under way there the part of its bytes that the span is of its time.
#[must_use]
pub fn pieces(all: &[Flowed], Span { from, to }: Span) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for m in all.iter().filter(|m| m.created < to && m.delivered > from) {
        let (begins, ends) = (m.created.max(from), m.delivered.min(to));
        let part = u128::from(m.bytes) * u128::from(ends - begins) / u128::from(m.delivered - m.created);
        let bytes = u64::try_from(part).unwrap_or(m.bytes).max(1);
        pieces.push(Piece { source: m.source, destination: m.destination, time: begins - from, bytes });
    }
    pieces.sort_by_key(|p| (p.time, p.source));
    pieces
}

/// Bytes of pieces.
#[must_use]
pub fn bytes(pieces: &[Piece]) -> u64 {
    pieces.iter().map(|p| p.bytes).sum()
}

/// Spans at seeded times of a run, one in each of as many parts of it, with no more than `share` of its bytes in them together.
#[must_use]
pub fn draw(all: &[Flowed], share: f64, seed: u64) -> Vec<Span> {
    let begin = all.iter().map(|m| m.created).min().unwrap_or(0);
    let end = all.iter().map(|m| m.delivered).max().unwrap_or(0);
    let time = (end - begin) as f64;
    let mean = all.iter().map(|m| (m.delivered - m.created) as f64).sum::<f64>() / all.len().max(1) as f64;
    let count = ((share * time / (LATENCIES * mean).max(1.0)) as u64).clamp(1, MOST);
    let most = share * all.iter().map(|m| m.bytes as f64).sum::<f64>();
    let stratum = (end - begin) / count;
    let mut length = share * time / count as f64;
    loop {
        let span = |n: u64| {
            let slack = stratum.saturating_sub(length as Ps);
            let from = begin + n * stratum + mix64(seed ^ n << 32 ^ 0x0065_7374) % (slack + 1);
            Span { from, to: from + (length as Ps).max(1) }
        };
        let spans: Vec<Span> = (0..count).map(span).collect();
        let played: f64 = spans.iter().map(|&span| bytes(&pieces(all, span)) as f64).sum();
        if played <= most || length < 2.0 {
            return spans;
        }
        // Where more flows than in the mean.
        length *= (0.95 * most / played).min(0.95);
    }
}

/// Pieces by the rank that sends them.
struct Pieces {
    rows: Vec<Vec<Message>>,
}

impl Traffic for Pieces {
    fn message(&self, rank: RankId, index: u64, _previous: Ps) -> Option<Message> {
        self.rows[rank.index()].get(usize::try_from(index).ok()?).copied()
    }

    fn reply(&self, _rank: RankId, _source: RankId, _index: u64) -> Option<(RankId, u64)> {
        None
    }

    fn closed_loop(&self) -> bool {
        false
    }

    fn largest(&self) -> Option<u64> {
        self.rows.iter().flatten().map(|m| m.bytes).max()
    }

    fn offered_bytes_per_s(&self) -> Option<f64> {
        None
    }
}

/// A job that sends pieces: a rank on each terminal that sends or receives one.
#[must_use]
pub fn job(pieces: &[Piece]) -> JobSetup {
    let mut terminals: Vec<u32> = pieces.iter().flat_map(|p| [p.source, p.destination]).collect();
    terminals.sort_unstable();
    terminals.dedup();
    let rank = |terminal: u32| terminals.partition_point(|&t| t < terminal) as u32;
    let mut rows = vec![Vec::new(); terminals.len()];
    for p in pieces {
        let destination = RankId::new(rank(p.destination));
        rows[rank(p.source) as usize].push(Message { time: p.time, destination, bytes: p.bytes });
    }
    JobSetup {
        name: "sample".to_owned(),
        work: Work::Traffic(Arc::new(Pieces { rows })),
        placement: terminals.iter().map(|&t| TerminalId::new(t)).collect(),
        message: None,
        start: 0,
        compute_ppb: JobSetup::COMPUTE_AS_IS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(created: Ps, delivered: Ps, bytes: u64) -> Flowed {
        Flowed { source: 0, destination: 1, created, delivered, bytes }
    }

    #[test]
    fn a_span_has_what_flowed_in_it() {
        let all = [message(0, 100, 1000), message(40, 60, 10), message(55, 255, 4000), message(80, 90, 7)];
        let found = pieces(&all, Span { from: 50, to: 70 });
        let seen: Vec<(Ps, u64)> = found.iter().map(|p| (p.time, p.bytes)).collect();
        assert_eq!(seen, [(0, 200), (0, 5), (5, 300)]);
    }

    /// Spans next to each other have all bytes, but for what is rounded.
    #[test]
    fn nothing_is_lost_between_spans() {
        let all: Vec<Flowed> = (0..200u64)
            .map(|n| {
                let created = mix64(n) % 5_000;
                message(created, created + 1 + mix64(n ^ 77) % 900, 1 + mix64(n ^ 99) % 100_000)
            })
            .collect();
        let parts: u64 =
            (0..60).map(|n| bytes(&pieces(&all, Span { from: n * 100, to: n * 100 + 100 }))).sum();
        let whole: u64 = all.iter().map(|m| m.bytes).sum();
        assert!(parts.abs_diff(whole) < 200 * 60, "{parts} {whole}");
    }

    #[test]
    fn draws_keep_to_their_share() {
        let burst: Vec<Flowed> = (0..50).map(|n| message(0, 1_000_000 + n, 1 << 20)).collect();
        let open: Vec<Flowed> = (0..5_000u64)
            .map(|n| message(n * 1000, n * 1000 + 2_000 + mix64(n) % 5_000, 64 << (n % 9)))
            .collect();
        for (all, count) in [(&burst, 1), (&open, 8)] {
            let whole: u64 = all.iter().map(|m| m.bytes).sum();
            for seed in 0..20 {
                let spans = draw(all, 0.1, seed);
                assert_eq!(spans.len(), count);
                assert!(spans.windows(2).all(|w| w[0].to <= w[1].from));
                let played: u64 = spans.iter().map(|&span| bytes(&pieces(all, span))).sum();
                assert!(played * 10 <= whole && played * 25 > whole, "{played} of {whole}");
                assert_eq!(spans, draw(all, 0.1, seed));
            }
            assert_ne!(draw(all, 0.1, 1), draw(all, 0.1, 2));
        }
    }
}
