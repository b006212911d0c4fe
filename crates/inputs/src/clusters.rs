//! Clusters from the files that tools leave of them, and lists that name their hosts.

use crate::text;
use congestion::{Want, mapping::Subset, routes::Multipath};
use fabric::{
    engines::Options,
    export::cluster as export,
    import::{self, Source},
    subnet::Subnet,
    verify::verify,
};
use netloom::{
    Registry,
    cluster::{Network, route},
    counting::{Asked, count},
};
use std::path::{Path, PathBuf};
use workload::levels::PART;

/// Most nodes of networks whose tables are verified: that takes time with their square.
const NODES: usize = 200;

/// All files of a cluster: nodes and cables, then tables, then lanes. What is read is verified, written and read again.
pub fn cluster(files: &[PathBuf]) -> Result<(), String> {
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let network = Network::load(&Registry::standard(), &names, &[], None).map_err(|e| text::of(&e))?;
    let subnet = &network.subnet;
    if subnet.nodes.len() < NODES {
        if let Some(tables) = &subnet.tables {
            drop(verify(subnet, tables));
        }
        written(subnet);
    }
    drop(subnet.fabric());
    Ok(())
}

fn written(subnet: &Subnet) {
    // As the program does before it writes forms that hold identifiers.
    let Ok(subnet) = &subnet.identified() else { return };
    let again = |name: &str, bytes: &[u8]| {
        let read = import::read(vec![Source::memory(name, bytes)]);
        let read = read.unwrap_or_else(|p| panic!("what is written can be read: {}", text::of_problems(p)));
        assert_eq!(read.edges.len(), subnet.edges.len(), "{name}: {}", String::from_utf8_lossy(bytes));
    };
    if subnet.edges.is_empty() {
        return;
    }
    let mut bytes = Vec::new();
    export::dot(subnet, &mut bytes).expect("memory takes it");
    if subnet.tables.is_some() {
        again("again.dot", &bytes);
    }
    if export::two_way(subnet).is_err() {
        return;
    }
    bytes.clear();
    export::net(subnet, &mut bytes).expect("memory takes it");
    again("again.net", &bytes);
    bytes.clear();
    export::ibnetdiscover(subnet, &mut bytes).expect("memory takes it");
    again("again.ibnetdiscover", &bytes);
}

/// Eight hosts at two switches.
const HOSTS: &str = "Switch 8 \"S0\"\n[1] \"H0\"[1]\n[2] \"H1\"[1]\n[3] \"H2\"[1]\n[4] \"H3\"[1]\n[5] \"S1\"[5]\n\nSwitch 8 \"S1\"\n[1] \"H4\"[1]\n\
                     [2] \"H5\"[1]\n[3] \"H6\"[1]\n[4] \"H7\"[1]\n\nHca 1 \"H0\"\n\nHca 1 \"H1\"\n\nHca 1 \"H2\"\n\nHca 1 \"H3\"\n\nHca 1 \"H4\"\n\n\
                     Hca 1 \"H5\"\n\nHca 1 \"H6\"\n\nHca 1 \"H7\"\n";

/// Counts what a pattern sends over the network of [`HOSTS`].
fn counted(pattern: &str, hosts: Option<&Path>, mapping: &str) -> Result<(), String> {
    let subnet =
        import::read(vec![Source::memory("hosts.net", HOSTS.as_bytes())]).expect("it is well formed");
    let subnet = route(&subnet, "minhop", &Options::default()).expect("a tree can be routed");
    let network = Network { subnet, closed: None };
    let asked = Asked {
        pattern,
        part_ranks: PART,
        ranks: 0,
        hosts,
        subset: Subset::Random,
        part_subset: None,
        mapping,
        level: None,
        runs: 2,
        seed: 1,
        want: Want { edges: true, ..Want::default() },
        threads: 1,
    };
    let counted = asked
        .plan(&network.subnet)
        .and_then(|plan| count(&network, &plan, Multipath::First, false, &mut |_| true));
    counted.map(drop).map_err(|e| text::of(&e))
}

/// A list of hosts, in the order of ranks, and as the hosts that take part.
pub fn mapping(files: &[PathBuf]) -> Result<(), String> {
    let name = files[0].display().to_string();
    let said = |text: String| if text.contains(&name) { text } else { format!("{name}: {text}") };
    counted("rand", None, &name)?;
    counted("rand", Some(&files[0]), "shuffle").map_err(said)
}

/// A list of pairs of ranks or hosts.
pub fn pair_list(files: &[PathBuf]) -> Result<(), String> {
    counted(&format!("pairs:{}", files[0].display()), None, "shuffle")
}
