#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
//! Bytes read per CPU second: `cargo bench -p netloom-otf2 --bench read [-- MEGABYTES]`.
//!
//! Writes an archive of 64 locations with the events of a wavefront code (a time stamp, enter, message, leave), lets the events of all locations pass by, and
//! prints megabytes (10^6 B) of event files per CPU second (elapsed where the system does not say): the median of five passes, and the best. The files are in the
//! cache of the system then. Times are measured, never asserted.

use otf2::{Archive, Definitions, EventKind, Location, LocationGroup, SystemTreeNode, Writer};
use std::{fs, path::Path, sync::OnceLock, time::Instant};

const LOCATIONS: u64 = 64;

/// Writes the archive; returns the bytes of its events.
fn write(directory: &Path, megabytes: u64) -> otf2::Result<u64> {
    let mut d = Definitions::default();
    d.clock.resolution = 1_000_000_000_000;
    let name = d.string("thread");
    d.nodes.insert(0, SystemTreeNode { name, class: name, parent: None });
    let writer = Writer::create(directory, "bench")?;
    let mut bytes = 0;
    for number in 0..LOCATIONS {
        let mut location = writer.location(number)?;
        let mut time = 7_000_000_000;
        // About 53 bytes a turn.
        for turn in 0..megabytes * 1_000_000 / LOCATIONS / 53 {
            let (peer, tag) = ((turn % LOCATIONS) as u32, 1);
            let message = match turn % 2 {
                0 => EventKind::Send { receiver: peer, comm: 0, tag, bytes: 240 },
                _ => EventKind::Recv { sender: peer, comm: 0, tag, bytes: 280 },
            };
            for (step, kind) in [
                (17_345_123, EventKind::Enter { region: 40 }),
                (211_000, message),
                (913_771, EventKind::Leave { region: 40 }),
            ] {
                time += step;
                location.write(time, &kind, &[])?;
            }
        }
        let events = location.finish()?;
        d.location_groups.insert(number as u32, LocationGroup { name, kind: 1, parent: Some(0) });
        d.locations.insert(number, Location { name, kind: 1, events, group: number as u32 });
        bytes += fs::metadata(directory.join(format!("traces/{number}.evt"))).map_or(0, |m| m.len());
    }
    writer.finish(&d)?;
    Ok(bytes)
}

/// Seconds of processor time so far.
fn seconds() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let reported = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = reported.and_then(|t| t.split(' ').next().and_then(|n| n.parse::<f64>().ok()));
    ns.map_or_else(|| START.get_or_init(Instant::now).elapsed().as_secs_f64(), |ns| ns / 1e9)
}

fn main() -> otf2::Result<()> {
    let megabytes = std::env::args().find_map(|a| a.parse().ok()).unwrap_or(200);
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let bytes = write(directory.path(), megabytes)?;
    let archive = Archive::open(&directory.path().join("traces.otf2"))?;
    let mut rates = Vec::new();
    let mut events = 0u64;
    for _ in 0..5 {
        let start = seconds();
        let (mut sum, mut count) = (0u64, 0);
        for location in 0..LOCATIONS {
            for event in archive.events(location)? {
                sum = sum.wrapping_add(event?.time);
                count += 1;
            }
        }
        rates.push(bytes as f64 / 1e6 / (seconds() - start));
        events = count;
        std::hint::black_box(sum);
    }
    rates.sort_by(f64::total_cmp);
    println!(
        "{LOCATIONS} locations, {:.1} MB, {:.1} M events: median {:.0} MB/s, best {:.0} MB/s",
        bytes as f64 / 1e6,
        events as f64 / 1e6,
        rates[2],
        rates[4]
    );
    Ok(())
}
