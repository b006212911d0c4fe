//! Random updates (GUPS, section 3.4): saturated throughput beside its analytic prediction, across the size at which the bottleneck moves from links between racks to links
//! within them; and how soon throughput, buffers and links come to rest.

use super::{
    experiments::Experiments,
    indirect::Figure,
    settling::{Settled, settled, windows},
    statements::{Judgement, Statement},
};
use netloom::Error;
use report::plot::{Axis, Facet, Mark, Plot, Series};
use serde_json::json;
use std::fmt::Write as _;

/// The experiment of the study.
const FILE: &str = "gups.toml";
/// Bytes per second of a link within a rack, between racks, and of a terminal, as the experiment has them.
const RATES: [f64; 3] = [5e9, 10e9, 96e9];
/// An update on the wire, in bytes.
const UPDATE: f64 = 128.0;
/// Load that is offered, as a multiple of the predicted throughput.
const OFFERED: f64 = 1.05;
/// How far off a prediction may be.
const WITHIN: f64 = 0.02;

/// Windows of a run.
const WINDOWS: u64 = 60;

/// How much is run.
pub struct Effort {
    /// Shapes of racks and how many of them, in turn.
    pub shapes: &'static [Shape],
    /// Length of a window in ns. A run is 60 whole ones, of which the last two thirds are measured.
    pub window: u32,
}

impl Effort {
    /// What a run's experiment says of time: what is delivered is measured window by window, whenever it was sent.
    fn times(&self) -> [String; 2] {
        // A last window that is cut short would count as a whole one.
        let duration = WINDOWS * u64::from(self.window);
        [format!("experiment.duration={duration} ns"), format!("output.window={} ns", self.window)]
    }
}

/// A rack, and the sizes of systems that are made of it.
pub struct Shape {
    /// Boards in a rack.
    pub boards: u32,
    /// Switches on a board, each with a terminal.
    pub switches: u32,
    /// Numbers of racks, each one more than a multiple of the hubs in a rack.
    pub racks: &'static [u32],
}

/// Bytes per second of each hub that uniform updates over direct routes cannot exceed, by links within racks and by those between them, for `racks` racks of `hubs`
/// hubs with a link between each two hubs of a rack and each two racks.
///
/// Of the `N - 1` updates of a hub to all others `hubs` go to each other rack over one link for all hubs: `hubs^2` pairs share it. A link within a rack
/// carries its own pair, what its source sends to the racks whose link its end holds, and what comes in from those that its source holds. That is `2 racks - 1`
/// pairs on every link if all hubs hold as many links to other racks, so if `racks - 1` is a multiple of `hubs`; otherwise links between hubs that hold one more are
/// full before the mean is.
#[must_use]
pub fn prediction(hubs: u32, racks: u32) -> [f64; 2] {
    let (hubs, racks) = (f64::from(hubs), f64::from(racks));
    let others = hubs * racks - 1.0;
    [others * RATES[0] / (2.0 * racks - 1.0), others * RATES[1] / (hubs * hubs)]
}

/// Number of racks, not whole, at which both bounds are the same.
#[must_use]
pub fn crossover(hubs: u32) -> f64 {
    (f64::from(hubs * hubs) * RATES[0] / RATES[1] + 1.0) / 2.0
}

/// One size of the system, and what came of it.
struct Size {
    hubs: u32,
    racks: u32,
    /// Bytes per second of a hub, predicted and measured.
    rate: [f64; 2],
    /// Mean use of links within and between racks.
    busy: [f64; 2],
}

impl Size {
    fn off(&self) -> f64 {
        self.rate[1] / self.rate[0] - 1.0
    }

    /// True if the prediction has links within racks as the bottleneck.
    fn within(&self) -> bool {
        f64::from(self.racks) > crossover(self.hubs)
    }

    /// Updates per second of the whole system, predicted and measured, in 10^9.
    fn gups(&self) -> [f64; 2] {
        self.rate.map(|rate| rate * f64::from(self.hubs * self.racks) / UPDATE / 1e9)
    }
}

/// Runs and draws it.
///
/// # Errors
/// If a run fails, or a file cannot be written.
pub fn run(experiments: &Experiments<'_>, effort: &Effort) -> Result<Figure, Error> {
    let mut sizes = Vec::new();
    for shape in effort.shapes {
        for &racks in shape.racks {
            sizes.push(size(experiments, shape, racks, effort)?);
        }
    }
    experiments.draw("gups", &plot(&sizes))?;
    let rest = rest(experiments, effort)?;
    let cell = |size: &Size| {
        json!({"hubs_of_a_rack": size.hubs, "racks": size.racks, "bytes_per_s_of_a_hub": size.rate, "gups": size.gups(),
               "off": size.off(), "use_within_and_between_racks": size.busy})
    };
    let all: Vec<_> = sizes.iter().map(cell).collect();
    Ok(Figure {
        text: table(&sizes) + &rest.text(),
        object: json!({"sizes": all, "settled_us": rest.object()}),
        statements: judged(&sizes, &rest),
    })
}

/// Overrides of a machine and the load that it is offered, a multiple of the predicted throughput.
fn machine(shape: &Shape, racks: u32, offered: f64) -> (f64, Vec<String>) {
    let hubs = shape.boards * shape.switches;
    let predicted = prediction(hubs, racks).into_iter().fold(f64::INFINITY, f64::min);
    let set = vec![
        format!("fabric.racks={racks}"),
        format!("fabric.boards_per_rack={}", shape.boards),
        format!("fabric.switches_per_board={}", shape.switches),
        format!("fabric.links_level_2={}", shape.switches * shape.switches),
        format!("job.0.load={:.6}", (offered * predicted / RATES[2]).min(1.0)),
    ];
    (predicted, set)
}

fn size(experiments: &Experiments<'_>, shape: &Shape, racks: u32, effort: &Effort) -> Result<Size, Error> {
    let hubs = shape.boards * shape.switches;
    experiments.begin(&format!("GUPS: {racks} racks of {hubs} hubs"));
    let (predicted, mut set) = machine(shape, racks, OFFERED);
    set.extend(effort.times());
    let finished = experiments.run(FILE, &set)?;
    let delivered = windows(&finished, "bytes_delivered");
    let last = &delivered[delivered.len() / 3..];
    debug_assert_eq!(delivered.len() as u64, WINDOWS, "all windows are whole");
    let accepted = last.iter().sum::<f64>() / (last.len() as u64 * u64::from(effort.window)) as f64 * 1e9;
    let mut busy = [0.0; 2];
    for class in finished.summary.links.iter().flat_map(|links| &links.classes) {
        match class.class.as_str() {
            "level-2" => busy[0] = class.mean_utilisation,
            "level-3" => busy[1] = class.mean_utilisation,
            _ => {}
        }
    }
    Ok(Size { hubs, racks, rate: [predicted, accepted / f64::from(hubs * racks)], busy })
}

/// How soon a saturated system comes to rest: nine racks of eight hubs at one and a half times what they carry.
fn rest(experiments: &Experiments<'_>, effort: &Effort) -> Result<Settled, Error> {
    experiments.begin("GUPS: coming to rest");
    let (_, mut set) = machine(&Shape { boards: 2, switches: 4, racks: &[] }, 9, 1.5);
    // Buffers that can be full before the run ends.
    set.extend(
        ["terminal", "level-1", "level-2", "level-3"]
            .map(|class| format!("fabric.link.{class}.vc_buffer=8 KiB")),
    );
    set.extend(effort.times());
    set.push("output.per_port=true".to_owned());
    Ok(settled(&experiments.run(FILE, &set)?))
}

fn table(sizes: &[Size]) -> String {
    let mut out = String::from(
        "\nGUPS: saturated throughput of uniform updates over direct routes, predicted and measured\n",
    );
    let _ = writeln!(
        out,
        "  {:>5} {:>5} {:>6}  {:13} {:>10} {:>10} {:>8}  {:>9} {:>9}   use within, between racks in %",
        "hubs", "racks", "nodes", "limit", "GB/s a hub", "measured", "off", "GUPS", "measured"
    );
    for size in sizes {
        let [predicted, measured] = size.rate.map(|rate| rate / 1e9);
        let [gups, ours] = size.gups();
        let limit = if size.within() { "within racks" } else { "between racks" };
        let _ = writeln!(
            out,
            "  {:>5} {:>5} {:>6}  {limit:13} {predicted:>10.3} {measured:>10.3} {:>+7.2}%  {gups:>9.3} {ours:>9.3}   {:>5.1} {:>5.1}",
            size.hubs,
            size.racks,
            size.hubs * size.racks,
            size.off() * 100.0,
            size.busy[0] * 100.0,
            size.busy[1] * 100.0
        );
    }
    let mut hubs: Vec<u32> = sizes.iter().map(|size| size.hubs).collect();
    hubs.dedup();
    for hubs in hubs {
        let _ = writeln!(out, "  crossover of {hubs} hubs a rack: {:.1} racks", crossover(hubs));
    }
    out
}

fn plot(sizes: &[Size]) -> Plot {
    let mut hubs: Vec<u32> = sizes.iter().map(|size| size.hubs).collect();
    hubs.dedup();
    let facet = |&hubs: &u32| {
        let of = |which: usize| {
            let here = sizes.iter().filter(move |size| size.hubs == hubs);
            here.map(move |size| Mark {
                x: f64::from(size.racks),
                y: size.rate[which] / 1e9,
                bar: None,
                hollow: false,
            })
            .collect()
        };
        Facet {
            title: format!("racks of {hubs} hubs"),
            series: (0..2).map(|name| Series { name, marks: of(name) }).collect(),
        }
    };
    Plot {
        title: "GUPS: throughput of a hub by size of the system".to_owned(),
        x: Axis { label: "racks".to_owned(), min: Some(0.0), ..Axis::default() },
        y: Axis { label: "GB/s a hub".to_owned(), min: Some(0.0), ..Axis::default() },
        names: vec!["predicted".to_owned(), "measured".to_owned()],
        facets: hubs.iter().map(facet).collect(),
        width: 516.0,
        ..Plot::default()
    }
}

fn judged(sizes: &[Size], rest: &Settled) -> Vec<Statement> {
    let worst = sizes.iter().map(Size::off).max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(f64::NAN);
    let moved = |size: &Size| (size.busy[0] > size.busy[1]) == size.within();
    let statement = |says, judgement, why| Statement { place: "Section 3.4", says, judgement, why };
    vec![
        statement(
            "simulation validates the analytic prediction of GUPS",
            Judgement::of(worst.abs() <= WITHIN),
            format!("at most {:+.2} % off over {} sizes (asked: {:.0} %)", worst * 100.0, sizes.len(), WITHIN * 100.0),
        ),
        statement(
            "above a predicted size links of level 2 become the bottleneck, below it those of level 3 are",
            Judgement::of(sizes.iter().all(moved)),
            {
                let [hubs, racks] = sizes.first().map_or([0, 0], |size| [size.hubs, size.racks]);
                let edge = crossover(hubs);
                format!("the busier level is the predicted one at every size from {racks} racks on; crossover of {hubs} hubs a rack at {edge:.1} racks")
            },
        ),
        rest.statement(),
        statement(
            "16 processors simulate 17 times as fast as one, thanks to their caches",
            Judgement::Open,
            "not measured: the study runs in one thread. A super-linear speed-up says that the sequential run was slowed by a working set beyond its cache; on a machine whose threads \
             share the last-level cache none is to be expected. BENCHMARKS.md has what two threads and two ranks gain on examples/gups-65536.toml"
                .to_owned(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        asked::Form,
        files::Place,
        mars::{SPECIAL, testing},
    };
    use netloom::watcher::Silent;

    /// What the paper's machine has: 32 hubs a rack, crossover between 256 and 257 racks, of 512.
    #[test]
    fn the_crossover_of_percs_lies_within_its_sizes() {
        assert!((crossover(32) - 256.5).abs() < 1e-9);
        let [within, between] = prediction(32, 256);
        assert!(between < within);
        let [within, between] = prediction(32, 257);
        assert!(between > within);
        // By hand: 9 racks of 8 hubs, 71 other hubs, 64 pairs on a link between racks, 17 on one within.
        for (ours, by_hand) in prediction(8, 9).into_iter().zip([71.0 * 5e9 / 17.0, 71.0 * 10e9 / 64.0]) {
            assert!((ours / by_hand - 1.0).abs() < 1e-12, "{ours} {by_hand}");
        }
    }

    #[test]
    fn saturated_updates_meet_their_prediction_on_both_sides() {
        let files = Place::Own.files(SPECIAL.name);
        let asked = testing::asked(Form::Smoke);
        let experiments = Experiments::new(&files, &asked, &Silent).unwrap();
        // Racks of eight hubs: crossover at 16.5; of four: at 4.5.
        for (switches, racks) in [(4, 9), (4, 17), (2, 5)] {
            let shape = Shape { boards: 2, switches, racks: &[] };
            let effort = Effort { shapes: &[], window: 500 };
            let size = size(&experiments, &shape, racks, &effort).unwrap();
            assert!(size.off().abs() <= WITHIN, "{racks} racks: {:+.4}", size.off());
            assert_eq!(size.busy[0] > size.busy[1], size.within(), "{racks} racks: {:?}", size.busy);
        }
    }
}
