//! `netloom congestion`: messages per link for a pattern, without an experiment file.

use super::{forms::put, network};
use crate::{
    args::Format,
    args::cluster::{CongestionArgs, MapColours, Metric, MultipathArg, SubsetArg},
    console::Console,
    exit::{Exit, Outcome},
    terminal::bar,
};
use congestion::{
    Plan, PlanRank, Want, mapping,
    routes::Multipath,
    setup::{block, fingerprint, threads},
};
use fabric::{subnet::Subnet, verify};
use netloom::{
    Error, ErrorKind,
    cluster::{self, Network, engine},
    congestion_map::{Palette, check_name, congestion_map},
    counting::{Asked, by_count, count, pattern},
    verified,
};
use results::summary::Congestion;
use serde_json::json;
use std::fmt::Write as _;

/// Counts how many messages of a pattern share a link, and prints the metric that was asked for.
///
/// # Errors
/// If the network cannot be read or routed, or a pattern, host or file is wrong.
pub fn congestion(args: &CongestionArgs, console: &mut Console<'_>) -> Outcome {
    // Mistakes in these are told before a large network is read and routed.
    pattern(&args.pattern, args.part_ranks)?;
    args.map.as_deref().map_or(Ok(()), check_name)?;
    unused(args)?;
    let mut network = network::load(&args.network)?;
    let mut reversed = false;
    if let Some((left, text)) = network::failed(&args.failures, &network.subnet, args.routing.seed)? {
        if args.engine.is_none() {
            return Err(usage("what fails changes the paths: --fail and --fail-links need --engine"));
        }
        console.remark(&format!("note: failed {text}"));
        network.subnet = left;
    }
    if args.engine.is_none() {
        network::without_engine(&args.routing)?;
    }
    if let Some(name) = &args.engine {
        reversed = engine(name)?.by_source;
        let options = network::options(&args.routing, &network.subnet)?;
        network = Network { subnet: cluster::route(&network.subnet, name, &options)?, closed: None };
    }
    if args.metric == Metric::EdgeForwardingIndex {
        return forwarding_index(&network.subnet, args, console);
    }
    let several = network.subnet.tables.as_ref().is_some_and(|t| t.planes > 1);
    if args.multipath == MultipathArg::Random && !several {
        console.remark(
            "note: hosts have one local identifier each: --multipath random has nothing to choose from",
        );
    }
    let plan = plan(&network.subnet, args)?;
    if plan.runs > 1 && plan.alike() {
        console.remark(
            "note: nothing is drawn: all mappings are the same (--hosts FILE shuffles the hosts of a file)",
        );
    }
    show(&network.subnet, &plan, args, console)?;
    let multipath = match args.multipath {
        MultipathArg::First => Multipath::First,
        MultipathArg::Random => Multipath::Random,
    };
    let template = "{bar:30} {pos} of {len} mappings  {eta} left";
    let bar = bar(console.shows_progress(), u64::from(plan.runs), template);
    let outcome = count(&network, &plan, multipath, reversed, &mut |done| {
        bar.set_position(u64::from(done));
        true
    });
    bar.finish_and_clear();
    let outcome = outcome?;
    if let Some(path) = &args.map {
        let (pattern, ranks, runs) = (&outcome.pattern, outcome.ranks, outcome.runs);
        let title = format!("{pattern}, {ranks} ranks, {runs} mappings: sum of congestion");
        let palette = match args.map_colours {
            MapColours::Safe => Palette::Safe,
            MapColours::GreenToRed => Palette::GreenToRed,
        };
        let bytes = congestion_map(&network.subnet, &outcome.totals.edges, title, palette, path)?;
        put(Some(path), &bytes, args.force, console)?;
    }
    let names = network.subnet.unique_names();
    let block = block(&outcome, &|edge| network.subnet.edge_label(edge, &names));
    match args.format {
        Format::Text => {
            let links = || by_count(&network.subnet, &outcome.totals.edges);
            let links = if args.metric == Metric::GetCableCong { links() } else { String::new() };
            console.print(&(text(&block, args.metric) + &links))?;
        }
        Format::Json => {
            let metric = clap::ValueEnum::to_possible_value(&args.metric).map(|v| v.get_name().to_owned());
            let mut object = json!({"metric": metric, "fingerprint": fingerprint(&outcome).to_string()});
            object["congestion"] = json!(block);
            console.print_json(&object)?;
        }
    }
    Ok(Exit::Done)
}

/// Refuses options that the metric has no use for.
fn unused(args: &CongestionArgs) -> Result<(), Error> {
    let pairs = args.metric == Metric::EdgeForwardingIndex;
    let links = args.metric == Metric::GetCableCong || args.map.is_some() || args.format == Format::Json;
    let refused = |what: &str, why: &str| Err(usage(format!("{what} has no effect: {why}")));
    if pairs && (args.level.is_some() || args.runs > 1) {
        return refused("--level or --runs", "edge_forwarding_index counts all pairs once");
    }
    if args.partial_counts && (pairs || !links) {
        return refused("--partial-counts", "only get_cable_cong, --map and JSON show links of a pattern");
    }
    Ok(())
}

fn usage(message: impl AsRef<str>) -> Error {
    Error::new(ErrorKind::Usage, message)
}

/// Hosts, mappings and what is asked for.
fn plan(subnet: &Subnet, args: &CongestionArgs) -> Result<Plan, Error> {
    let how = |subset| match subset {
        SubsetArg::Rand => mapping::Subset::Random,
        SubsetArg::LinearBfs => mapping::Subset::LinearBfs,
        SubsetArg::GuidOrderAsc => mapping::Subset::GuidAscending,
        SubsetArg::GuidOrderDesc => mapping::Subset::GuidDescending,
    };
    let metric = args.metric;
    let want = Want {
        edges: metric == Metric::GetCableCong || args.map.is_some() || args.format == Format::Json,
        partial: args.partial_counts,
        delays: metric == Metric::DepMaxDelay || args.format == Format::Json,
    };
    let asked = Asked {
        pattern: &args.pattern,
        part_ranks: args.part_ranks,
        ranks: args.ranks,
        hosts: args.hosts.as_deref(),
        subset: how(args.subset),
        part_subset: args.part_subset.map(how),
        mapping: &args.mapping,
        level: args.level,
        runs: args.runs,
        seed: args.routing.seed,
        want,
        threads: if args.threads == 0 { threads() } else { args.threads },
    };
    asked.plan(subnet)
}

/// Prints hosts and pattern if asked.
fn show(subnet: &Subnet, plan: &Plan, args: &CongestionArgs, console: &mut Console<'_>) -> Result<(), Error> {
    let (mut text, mut hosts) = (String::new(), Vec::new());
    plan.hosts(0, &mut hosts);
    let node = |rank: PlanRank| &subnet.nodes[subnet.hosts[hosts[rank.index()] as usize] as usize];
    let name = |rank| base::visible::name(&node(rank).name);
    if args.print_hosts {
        for rank in PlanRank::first(hosts.len() as u32) {
            let _ = writeln!(text, "rank {rank}: {}", name(rank));
        }
    }
    if args.print_pattern {
        for level in 0..plan.levels() {
            let mut pairs = Vec::new();
            plan.pairs(level, 0, &mut pairs);
            let _ = writeln!(text, "level {level}");
            for (a, b) in pairs {
                let _ = writeln!(text, "{a:>7} -> {b:<7} {} -> {}", name(a), name(b));
            }
        }
    }
    // JSON stays one object.
    if args.format == Format::Json {
        text.lines().for_each(|line| console.remark(line));
        return Ok(());
    }
    console.print(&text)
}

fn text(c: &Congestion, metric: Metric) -> String {
    let mut out = format!(
        "{}: {} ranks, {} mappings, {} levels, {} messages\n",
        c.pattern, c.ranks, c.runs, c.levels, c.messages
    );
    if c.unreachable > 0 {
        let _ = writeln!(out, "{} messages have no path and count nowhere", c.unreachable);
    }
    let connections: u64 = c.hist_max_cong.0.iter().map(|(_, n)| n).sum();
    match metric {
        Metric::SumMaxCong => {
            for (sum, n) in &c.hist_sum_max_cong.0 {
                let _ = writeln!(out, "congestion sum of {sum}: {n} mappings");
            }
            let _ = writeln!(out, "mean: {}", c.sum_max_cong);
        }
        Metric::HistMaxCong => {
            for (weight, n) in &c.hist_max_cong.0 {
                let _ = writeln!(out, "weight {weight}: {n} of the {connections} connections");
            }
            let _ = writeln!(out, "BW: {:.6}", c.bandwidth_fraction.unwrap_or(0.0));
        }
        Metric::HistAccBand => {
            for (low, n) in &c.hist_acc_band.0 {
                let high = low.parse::<f64>().unwrap_or(0.0) + 0.05;
                let _ = writeln!(out, "{low} to {high:.2}: {n} mappings");
            }
            let half =
                c.effective_bandwidth_half_width.map_or_else(String::new, |h| format!(" ± {h:.6} (95 %)"));
            let _ = writeln!(out, "mean: {:.6}{half}", c.effective_bandwidth.unwrap_or(0.0));
        }
        Metric::DepMaxDelay => {
            for (rule, counts) in
                [("ORCS 2.0", &c.hist_dep_max_delay), ("all dependencies", &c.hist_dep_max_delay_all_deps)]
            {
                for (delay, n) in &counts.0 {
                    let _ = writeln!(out, "delay of {delay} by {rule}: {n} mappings");
                }
            }
        }
        Metric::GetCableCong | Metric::EdgeForwardingIndex => {}
    }
    out
}

/// All to all: pairs per link.
fn forwarding_index(subnet: &Subnet, args: &CongestionArgs, console: &mut Console<'_>) -> Outcome {
    let Some(tables) = &subnet.tables else {
        return Err(usage("the network has no forwarding tables")
            .with_help("give a cluster's files with its tables, or compute them with --engine; the tables of an experiment are not read here"));
    };
    let report = verify::verify(subnet, tables);
    match args.format {
        Format::Text => console.print(&verified::index_text(subnet, &report))?,
        Format::Json => console.print_json(&verified::index_object(subnet, &report))?,
    }
    Ok(Exit::Done)
}
