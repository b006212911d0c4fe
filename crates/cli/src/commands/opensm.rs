//! `netloom fabric opensm`: a network routed by the real OpenSM, its tables beside ours.

use super::{
    forms::{put, written},
    network,
};
use crate::{
    args::Format,
    args::cluster::OpensmArgs,
    console::Console,
    exit::{Exit, Outcome},
    signals,
};
use base::{index::RouterId, registry::find};
use fabric::{
    engines::{ENGINES, Options},
    subnet::Subnet,
    verify::{self, Report},
};
use netloom::{
    cluster,
    opensm::{Request, onto, route},
};
use serde_json::{Value as Json, json};
use std::time::{Duration, Instant};

/// Routes a network by OpenSM.
///
/// # Errors
/// If the programs are not installed, fail, or do not end in time.
pub fn opensm(args: &OpensmArgs, console: &mut Console<'_>) -> Outcome {
    let subnet = network::load(&args.network)?.subnet.bare();
    let timeout = Duration::from_secs(args.timeout);
    let heeded = signals::ending();
    let request = Request {
        engine: &args.engine,
        lmc: args.lmc,
        roots: &args.roots,
        configuration: args.opensm_conf.as_deref(),
        timeout,
        stop: &heeded.signals.leave,
    };
    let begun = Instant::now();
    let routed = route(&subnet, &request)?;
    drop(heeded);
    console.remark(&format!("note: OpenSM took {:.3} s", begun.elapsed().as_secs_f64()));
    if let Some(form) = args.write.to {
        let routed = onto(&subnet, &routed)?;
        return put(args.write.out.as_deref(), &written(&routed, form)?, args.write.force, console);
    }
    compare(&routed, args, console)
}

fn object(r: &Report) -> Json {
    json!({"unreached": r.unreached, "loops": r.loops, "mean_length": r.mean_length(), "max_load": r.load.max, "sigma": r.load.sigma})
}

/// OpenSM's tables beside our engine's of the same name.
fn compare(routed: &Subnet, args: &OpensmArgs, console: &mut Console<'_>) -> Outcome {
    let tables = routed.tables.as_ref().expect("a dump was read");
    let theirs = verify::verify(routed, tables);
    let name = if args.engine == "torus-2QoS" { "torus" } else { &args.engine };
    let mut ours = None;
    if find(ENGINES, name).is_some() {
        // OpenSM takes them for other engines, too.
        let own: &[String] = if name == "updn" { &args.roots } else { &[] };
        let roots =
            own.iter().map(|r| cluster::switch(routed, r).map(RouterId::new)).collect::<Result<_, _>>()?;
        let options = Options { lmc: args.lmc, roots, lanes: 16, ..Options::default() };
        let subnet = cluster::route(routed, name, &options)?;
        let own = subnet.tables.as_ref().expect("an engine gives tables");
        let entries = (routed.hosts.len() * routed.switches.len()) << args.lmc;
        let pairs = tables.next.iter().zip(&own.next).take(entries);
        let same = pairs.filter(|(a, b)| a == b).count();
        ours = Some((verify::verify(&subnet, own), same, entries));
    }
    if args.format == Format::Json {
        let mut result = json!({"engine": args.engine, "opensm": object(&theirs)});
        if let Some((report, same, entries)) = &ours {
            result["netloom"] = object(report);
            result["same_entries"] = json!(same);
            result["entries"] = json!(entries);
        }
        console.print_json(&result)?;
        return Ok(Exit::Done);
    }
    let row = |name: &str, r: &Report| {
        format!(
            "{name:9} mean length {:.3}, load {} to {}, sigma {:.2}, unreached {}\n",
            r.mean_length(),
            r.load.min,
            r.load.max,
            r.load.sigma,
            r.unreached + r.loops
        )
    };
    let mut text = row("opensm", &theirs);
    match &ours {
        Some((report, same, entries)) => {
            text += &row("netloom", report);
            let verdict = if same == entries {
                "identical".to_owned()
            } else {
                format!("{same} of {entries} entries alike")
            };
            text += &format!("tables    {verdict}\n");
        }
        None => text += "netloom   has no engine of this name\n",
    }
    console.print(&text)?;
    Ok(Exit::Done)
}
