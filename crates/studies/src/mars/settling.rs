//! How soon throughput, buffers and links of a run come to rest.
//!
//! A series of windows is smoothed over five of them and is at rest from when on it stays within a tenth of its mean over the last third. Of many ports or links the
//! median is told. The same rule holds for all, so that only what they are can make them differ.

use super::statements::{Judgement, Statement};
use base::sorted::SortedMap;
use model::Finished;
use results::table::{Column, Table};
use serde_json::{Value as Json, json};

/// Windows that are averaged.
const SMOOTH: usize = 5;
/// Share of its final value that a series at rest stays within.
const NEAR: f64 = 0.1;

/// Times in us at which a run's quantities are at rest; none if not before the last third.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settled {
    /// Bytes delivered per window.
    pub throughput: Option<f64>,
    /// Bytes in all buffers.
    pub buffers: Option<f64>,
    /// Median over ports: bytes queued or in buffers.
    pub port: Option<f64>,
    /// Median over links between routers: bytes carried.
    pub link: Option<f64>,
}

/// Windows of one quantity.
type Windows = SortedMap<u64, f64>;

/// Values of a quantity of all links together, window by window.
#[must_use]
pub fn windows(finished: &Finished, quantity: &str) -> Vec<f64> {
    let table = finished.tables.iter().find(|table| table.name() == "series");
    let all = table.map_or_else(SortedMap::new, by_quantity);
    all.get(&(quantity.to_owned(), None)).map_or_else(Vec::new, |windows| windows.values().copied().collect())
}

/// Looks at a run with a series, ports included.
#[must_use]
pub fn settled(finished: &Finished) -> Settled {
    let table = |name: &str| finished.tables.iter().find(|table| table.name() == name);
    let series = table("series").map_or_else(SortedMap::new, by_quantity);
    let one = |what: &str| series.get(&(what.to_owned(), None)).and_then(at_rest);
    let ports = series.iter().filter(|(key, _)| key.0 == "port_backlog_bytes").map(|(_, w)| w);
    let links = table("loads").map_or_else(SortedMap::new, by_link);
    Settled {
        throughput: one("bytes_delivered"),
        buffers: one("buffered_bytes"),
        port: median(ports),
        link: median(links.values()),
    }
}

/// Rows of the series by quantity and link.
fn by_quantity(table: &Table) -> SortedMap<(String, Option<u32>), Windows> {
    let mut all: SortedMap<_, Windows> = SortedMap::new();
    let columns = (
        table.u64_column("time_ps"),
        table.text_column("quantity"),
        table.column("link"),
        table.column("value"),
    );
    let (Some(times), Some(names), Some(Column::Maybe(links)), Some(Column::F64(values))) = columns else {
        return all;
    };
    for (((time, name), link), value) in times.iter().zip(names.iter()).zip(links).zip(values) {
        all.entry((name.to_owned(), *link)).or_default().insert(*time, *value);
    }
    all
}

/// Bytes of links between routers by link.
fn by_link(table: &Table) -> SortedMap<u32, Windows> {
    let mut all: SortedMap<_, Windows> = SortedMap::new();
    let columns = (table.u64_column("time_ps"), table.u32_column("link"), table.u64_column("bytes"));
    let (Some(times), Some(links), Some(bytes)) = columns else { return all };
    for ((time, link), bytes) in times.iter().zip(links).zip(bytes) {
        all.entry(*link).or_default().insert(*time, *bytes as f64);
    }
    all
}

/// When a series is at rest, in us after its first window.
fn at_rest(windows: &Windows) -> Option<f64> {
    let (times, values): (Vec<u64>, Vec<f64>) = windows.iter().map(|(t, v)| (*t, *v)).unzip();
    if values.len() < 3 * SMOOTH {
        return None;
    }
    let last = &values[values.len() * 2 / 3..];
    let end = last.iter().sum::<f64>() / last.len() as f64;
    let smooth: Vec<f64> = values.windows(SMOOTH).map(|w| w.iter().sum::<f64>() / SMOOTH as f64).collect();
    let off = smooth.iter().rposition(|value| (value - end).abs() > NEAR * end);
    let first = off.map_or(0, |off| off + 1);
    (first < values.len() * 2 / 3).then(|| (times[first] - times[0]) as f64 / 1e6)
}

/// Median of when series are at rest; those that never are count as the latest.
fn median<'a>(all: impl Iterator<Item = &'a Windows>) -> Option<f64> {
    let mut times: Vec<f64> = all.map(|windows| at_rest(windows).unwrap_or(f64::INFINITY)).collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().filter(|time| time.is_finite())
}

fn name(time: Option<f64>) -> String {
    time.map_or_else(|| "not within the run".to_owned(), |us| format!("{us:.1} us"))
}

impl Settled {
    /// The result as text, for people.
    #[must_use]
    pub fn text(&self) -> String {
        format!(
            "  at rest (9 racks of 8 hubs, load 1.5 times what they carry, within {:.0} % of the final value): throughput {}, bytes in all buffers {}, median port's buffers {}, \
             median link's use {}\n",
            NEAR * 100.0,
            name(self.throughput),
            name(self.buffers),
            name(self.port),
            name(self.link)
        )
    }

    /// The result as JSON, for programs.
    #[must_use]
    pub fn object(&self) -> Json {
        json!({"throughput": self.throughput, "buffers": self.buffers, "port": self.port, "link": self.link})
    }

    /// The paper's statement.
    #[must_use]
    pub fn statement(&self) -> Statement {
        let late = |time: Option<f64>| time.unwrap_or(f64::INFINITY);
        let judgement = match self.throughput {
            None => Judgement::Open,
            Some(first) => Judgement::of(first < late(self.port) && first < late(self.link)),
        };
        Statement {
            place: "Section 3.4",
            says: "throughput is at rest sooner than buffers and links one by one",
            judgement,
            why: format!(
                "throughput {}, median port {}, median link {}; buffers go on filling when links are full already, and few updates pass one link in a window, so that chance alone moves it",
                name(self.throughput),
                name(self.port),
                name(self.link)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: impl Iterator<Item = f64>) -> Windows {
        values.enumerate().map(|(i, v)| (i as u64 * 1_000_000, v)).collect()
    }

    #[test]
    fn a_series_is_at_rest_where_it_stays_near_its_end() {
        let step = series((0..60).map(|i| if i < 20 { 0.0 } else { 100.0 }));
        // The window of five that begins at 20 is the first that is all there; 19 has four fifths.
        assert_eq!(at_rest(&step), Some(20.0));
        assert_eq!(at_rest(&series((0..60).map(|_| 7.0))), Some(0.0));
        assert_eq!(at_rest(&series((0..60).map(f64::from))), None, "it rises to the end");
        assert_eq!(at_rest(&series((0..9).map(|_| 7.0))), None, "too few windows");
        let [early, late] = [10, 30].map(|n| series((0..60).map(move |i| if i < n { 0.0 } else { 1.0 })));
        assert_eq!(median([&early, &late, &late].into_iter()), Some(30.0));
        assert_eq!(median([&early, &early, &late].into_iter()), Some(10.0));
    }
}
