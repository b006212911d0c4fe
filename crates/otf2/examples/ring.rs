//! Writes a trace of ranks that pass a message around: `ring DIRECTORY [RANKS [ROUNDS]]`.

use otf2::{
    Attribute, Comm, Definitions, EventKind, Group, GroupType, Location, LocationGroup, Region,
    SystemTreeNode, Writer, paradigm,
};

/// Ticks from one message to the next.
const STEP: u64 = 1_000_000;
const BYTES: u64 = 1 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let directory = args.next().ok_or("ring DIRECTORY [RANKS [ROUNDS]]")?;
    let ranks: u64 = args.next().map_or(Ok(4), |n| n.parse())?;
    let rounds: u64 = args.next().map_or(Ok(3), |n| n.parse())?;
    let mut d = definitions(ranks);
    let end = STEP * rounds * ranks + 2 * STEP;
    let writer = Writer::create(directory.as_ref(), "ring")?;
    let name = d.string("Master thread");
    for r in 0..ranks {
        let mut location = writer.location(r)?;
        let mut put = |time, kind, attributes: &[_]| location.write(time, &kind, attributes);
        put(0, EventKind::Enter { region: 0 }, &[])?;
        let (next, previous) = (((r + 1) % ranks) as u32, ((r + ranks - 1) % ranks) as u32);
        for round in 0..rounds {
            let start = STEP * (round * ranks + r) + 1;
            let tag = round as u32;
            put(start, EventKind::Enter { region: 1 }, &[])?;
            put(start + 1000, EventKind::Send { receiver: next, comm: 0, tag, bytes: BYTES }, &[(0, 6)])?;
            put(start + 2000, EventKind::Leave { region: 1 }, &[])?;
            put(start + 3000, EventKind::Enter { region: 2 }, &[])?;
            put(start + 900_000, EventKind::Recv { sender: previous, comm: 0, tag, bytes: BYTES }, &[])?;
            put(start + 900_001, EventKind::Leave { region: 2 }, &[])?;
        }
        put(end, EventKind::Leave { region: 0 }, &[])?;
        let events = location.finish()?;
        let rank = d.string(&format!("MPI Rank {r}"));
        d.location_groups.insert(r as u32, LocationGroup { name: rank, kind: 1, parent: Some(0) });
        d.locations.insert(r, Location { name, kind: 1, events, group: r as u32 });
    }
    d.clock.length = end;
    writer.finish(&d)?;
    Ok(())
}

/// All but the locations.
fn definitions(ranks: u64) -> Definitions {
    let mut d = Definitions::default();
    d.clock.resolution = 1_000_000_000_000;
    d.string("");
    let (node, world) = (d.string("node"), d.string("MPI_COMM_WORLD"));
    let (main, send, recv, hops) =
        (d.string("main"), d.string("MPI_Send"), d.string("MPI_Recv"), d.string("hops"));
    d.nodes.insert(0, SystemTreeNode { name: node, class: node, parent: None });
    d.attributes.insert(0, Attribute { name: hops, description: hops, kind: 4 });
    let mpi = |name| Region { name, paradigm: paradigm::MPI, role: 28 };
    d.regions.insert(0, Region { name: main, paradigm: paradigm::USER, role: 1 });
    d.regions.insert(1, mpi(send));
    d.regions.insert(2, mpi(recv));
    let group = |kind| Group { name: 0, kind, paradigm: paradigm::MPI, members: (0..ranks).collect() };
    d.groups.insert(0, group(GroupType::Locations));
    d.groups.insert(1, group(GroupType::Ranks));
    d.comms.insert(0, Comm { name: world, group: 1 });
    d
}
