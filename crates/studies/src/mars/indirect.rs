//! Figure 8: routes by way of other racks, static and adaptive, with infinitely fast processors.
//!
//! Five racks. An application has half of its ranks in rack 0 and half in rack 1, which one link joins; partitions of the same application run in racks 2 to 4
//! for twice as many steps, so that the detours are never idle. Rates of links are those of a PERCS hub, none is chosen for the outcome.

use super::{
    experiments::{Experiments, makespan},
    statements::{Judgement, Statement},
    traces::Application,
};
use netloom::Error;
use report::plot::{Axis, Facet, Mark, Plot, Series, Ticks};
use serde_json::{Value as Json, json};
use std::fmt::Write as _;

/// The experiment of the figure.
const FILE: &str = "indirect.toml";
/// Choices among the direct route and indirect ones: in equal parts (first), then by queues.
const RULES: [&str; 5] = ["round-robin", "random", "static", "least-queue", "most-credits"];
/// How many of [`RULES`] are static.
const STATIC: usize = 3;
/// Links between each two racks that make racks the bottleneck: one from every switch to every other.
const MANY: u32 = 32 * 32;
/// Indirect routes need twice the virtual channels.
const TWO_LEGS: &str = "model.vcs=8";
/// Less than this share of a run time is no difference.
const SAME: f64 = 0.02;

/// How much is run.
pub struct Effort {
    /// Steps of the application.
    pub steps: u32,
    /// Applications that are run.
    pub applications: &'static [Application],
    /// Rules of choice, by index in the order of the table.
    pub rules: &'static [usize],
}

/// Run times of one application in one setting.
struct Case {
    /// Index in [`RULES`].
    rule: usize,
    racks: u32,
    /// Of the application, as a part of its run time over direct routes.
    application: f64,
    /// Of the slowest other partition, likewise.
    others: f64,
}

/// All settings of one application.
struct Found {
    application: Application,
    /// Run time over direct routes in ps.
    direct: f64,
    /// Share of it in which the link between the racks is busy.
    busy: f64,
    /// With links enough between racks, as a part of it.
    bound: f64,
    cases: Vec<Case>,
}

/// What the figure came to.
pub struct Figure {
    /// Tables for people.
    pub text: String,
    /// The same for programs.
    pub object: Json,
    /// Statements of section 3.3.
    pub statements: Vec<Statement>,
}

/// Runs and draws it.
///
/// # Errors
/// If a run fails, or a file cannot be written.
pub fn run(experiments: &Experiments<'_>, effort: &Effort) -> Result<Figure, Error> {
    let mut all = Vec::new();
    for &application in effort.applications {
        let found = one(experiments, application, effort)?;
        experiments.draw(&format!("figure-8-{}", application.name()), &plot(&found))?;
        all.push(found);
    }
    let exchange = exchange(experiments)?;
    let text = all.iter().map(table).chain([exchange_table(&exchange)]).collect();
    let applications: Vec<Json> = all.iter().map(object).collect();
    let statements = all.first().map_or_else(Vec::new, |first| judged(first, &all, &exchange));
    Ok(Figure { text, object: json!({"applications": applications, "exchange": exchange}), statements })
}

/// Rates in GB/s of a level-3 link and of the level-2 link that a detour crosses in the third rack.
const RATES: [f64; 2] = [10.0, 5.0];

/// What a mere exchange between both racks takes over 1, 2, 3 indirect routes as a part of its time over the direct one: in equal parts, and as the rates of the routes.
#[must_use]
pub fn closed_form() -> [[f64; 2]; 3] {
    let [direct, detour] = RATES;
    [1.0, 2.0, 3.0].map(|routes: f64| [direct / detour / (1.0 + routes), direct / (direct + routes * detour)])
}

/// The same in runs with nothing on the detours: by the first static and the first adaptive rule. Every rank exchanges with
/// a partner in the other rack, those of a board with partners on all boards.
fn exchange(experiments: &Experiments<'_>) -> Result<[[f64; 2]; 3], Error> {
    let there = "32 + rank % 4 * 8 + rank / 4";
    let back = "rank % 8 * 4 + (rank - 32) / 8";
    let text = format!(
        "ranks 64\nrank 0-31 {{\n  sendrecv 256 kB to {there} recv 256 kB from {there}\n}}\n\
         rank 32-63 {{\n  sendrecv 256 kB to {back} recv 256 kB from {back}\n}}\n"
    );
    let exchange = experiments.program("exchange.ranks", &text)?;
    let idle = experiments.program("idle.ranks", "ranks 32\nall { barrier }\n")?;
    let programs = [&exchange, &idle, &idle, &idle].into_iter().enumerate();
    let files: Vec<String> = programs.map(|(job, path)| format!("job.{job}.file={path}")).collect();
    let time = |set: &[String]| {
        experiments.begin("figure 8: exchange between racks");
        makespan(&experiments.run(FILE, &[files.as_slice(), set].concat())?, 0)
    };
    let direct = time(&[])?;
    let mut found = [[0.0; 2]; 3];
    for (racks, row) in (1..).zip(&mut found) {
        for (rule, cell) in [0, STATIC].into_iter().zip(row) {
            let set = [
                format!("routing.indirect={racks}"),
                format!("routing.select={}", RULES[rule]),
                TWO_LEGS.to_owned(),
            ];
            *cell = time(&set)? / direct;
        }
    }
    Ok(found)
}

fn exchange_table(found: &[[f64; 2]; 3]) -> String {
    let mut out = String::from(
        "\nFigure 8, an exchange between the racks alone, detours idle: run time by indirect routes, and the closed form\n",
    );
    for (i, name) in [(0, RULES[0]), (1, RULES[STATIC])] {
        let cells: String = found
            .iter()
            .zip(closed_form())
            .map(|(ours, form)| format!("  {:.3} ({:.3})", ours[i], form[i]))
            .collect();
        let _ = writeln!(out, "  {name:14}{cells}");
    }
    out
}

fn one(experiments: &Experiments<'_>, application: Application, effort: &Effort) -> Result<Found, Error> {
    experiments.program("application.ranks", &application.program([4, 4, 4], effort.steps, 500))?;
    experiments.program("background.ranks", &application.program([4, 4, 2], 2 * effort.steps, 500))?;
    let times = |what: String, set: &[String]| {
        experiments.begin(&format!("figure 8: {}, {what}", application.name()));
        let finished = experiments.run(FILE, set)?;
        let others = (1..finished.summary.jobs.len()).map(|job| makespan(&finished, job));
        let slowest = others.into_iter().try_fold(0.0, |most: f64, one| one.map(|one| most.max(one)))?;
        let mut classes = finished.summary.links.iter().flat_map(|links| &links.classes);
        let busy = classes.find(|class| class.class == "level-3").map_or(0.0, |class| class.max_utilisation);
        let run = makespan(&finished, 0)?;
        // Others run on afterwards, and over direct routes send nothing between racks.
        Ok::<_, Error>((run, slowest, busy * finished.summary.simulated_ps as f64 / run))
    };
    let direct = times("direct routes".to_owned(), &[])?;
    let bound = times("many links".to_owned(), &[format!("fabric.links_level_3={MANY}")])?.0 / direct.0;
    let mut cases = Vec::new();
    for &rule in effort.rules {
        for racks in 1..=3 {
            let set = [
                format!("routing.indirect={racks}"),
                format!("routing.select={}", RULES[rule]),
                TWO_LEGS.to_owned(),
            ];
            let (run, slowest, _) = times(format!("{racks} indirect, {}", RULES[rule]), &set)?;
            cases.push(Case { rule, racks, application: run / direct.0, others: slowest / direct.1 });
        }
    }
    Ok(Found { application, direct: direct.0, busy: direct.2, bound, cases })
}

impl Found {
    /// Run time by a rule of these with so many indirect routes.
    fn at(&self, rule: usize, racks: u32) -> Option<f64> {
        self.cases.iter().find(|case| case.rule == rule && case.racks == racks).map(|case| case.application)
    }

    /// Run times of the first static and the first adaptive rule that was run, with so many indirect routes.
    fn pair(&self, racks: u32) -> Option<(f64, f64)> {
        let of = |mut rules: std::ops::Range<usize>| rules.find_map(|rule| self.at(rule, racks));
        of(0..STATIC).zip(of(STATIC..RULES.len()))
    }
}

fn table(found: &Found) -> String {
    let mut out = format!(
        "\nFigure 8: run time of the {} application by indirect routes, as a part of that over direct ones ({:.1} us); slowest other partition likewise\n",
        found.application.name(),
        found.direct / 1e6
    );
    let _ = writeln!(out, "  {:14} {:>9} {:>9} {:>9}   others {:>7} {:>7} {:>7}", "choice", 1, 2, 3, 1, 2, 3);
    for (rule, name) in RULES.iter().enumerate().filter(|(rule, _)| found.at(*rule, 1).is_some()) {
        let of = |rule| found.cases.iter().filter(move |case| case.rule == rule);
        let run: String = of(rule).map(|case| format!(" {:>9.3}", case.application)).collect();
        let others: String = of(rule).map(|case| format!(" {:>7.3}", case.others)).collect();
        let _ = writeln!(out, "  {name:14}{run}         {others}");
    }
    let _ = writeln!(out, "  {:14} {:>9.3}   ({MANY} links between racks)", "ideal bound", found.bound);
    out
}

fn object(found: &Found) -> Json {
    let case = |case: &Case| json!({"choice": RULES[case.rule], "indirect": case.racks, "run_time": case.application, "other_partitions": case.others});
    let cases: Vec<Json> = found.cases.iter().map(case).collect();
    json!({"application": found.application.name(), "direct_ps": found.direct, "link_busy": found.busy, "bound": found.bound, "cases": cases})
}

fn plot(found: &Found) -> Plot {
    let mark = |x: f64, y| Mark { x, y, bar: None, hollow: false };
    let rules: Vec<usize> = (0..RULES.len()).filter(|rule| found.at(*rule, 1).is_some()).collect();
    let mut series: Vec<Series> = Vec::new();
    for (name, rule) in rules.iter().enumerate() {
        let rest = (1..=3).filter_map(|racks| Some(mark(f64::from(racks), found.at(*rule, racks)?)));
        series.push(Series { name, marks: std::iter::once(mark(0.0, 1.0)).chain(rest).collect() });
    }
    let bound = (0..=3).map(|racks| mark(f64::from(racks), found.bound)).collect();
    series.push(Series { name: rules.len(), marks: bound });
    let names = rules.iter().map(|rule| RULES[*rule]).chain(["ideal bound"]).map(str::to_owned).collect();
    Plot {
        title: format!("Figure 8: indirect routes, {} application", found.application.name()),
        x: Axis {
            label: "indirect routes beside the direct one".to_owned(),
            ticks: Ticks::Decimal,
            min: Some(0.0),
            max: Some(3.0),
            ..Axis::default()
        },
        y: Axis { label: "run time, direct routes = 1".to_owned(), min: Some(0.0), ..Axis::default() },
        names,
        facets: vec![Facet { title: String::new(), series }],
        width: 516.0,
        ..Plot::default()
    }
}

fn statement(says: &'static str, holds: bool, why: String) -> Statement {
    Statement { place: "Figure 8", says, judgement: Judgement::of(holds), why }
}

/// The statements of section 3.3, by the first application; the others are told beside.
fn judged(found: &Found, all: &[Found], exchange: &[[f64; 2]; 3]) -> Vec<Statement> {
    let pairs: Vec<(f64, f64)> = (1..=3).filter_map(|racks| found.pair(racks)).collect();
    let [one, two, three] = pairs[..] else { return Vec::new() };
    let beside = |racks: u32| -> String {
        let one = |f: &Found| Some(format!("{} {:.3}", f.application.name(), f.pair(racks)?.0));
        let others: Vec<String> = all.iter().skip(1).filter_map(one).collect();
        if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) }
    };
    let detour = format!(
        "an exchange between the racks alone takes {:.3}, since half of it takes as long over a level-2 link of 5 GB/s in the third rack as all of it over the direct link of \
         10 GB/s. The application keeps that link busy for {:.0} % of its direct run only, the rest is waiting for neighbours and for links between boards, and routes by \
         other racks leave and enter the racks over other boards",
        exchange[0][0],
        found.busy * 100.0
    );
    let mut all = vec![
        statement(
            "one indirect route beside the direct one is no improvement if the choice is static",
            one.0 >= 1.0 - SAME,
            format!("{:.3} of the direct run time{}; {detour}", one.0, beside(1)),
        ),
        statement(
            "adaptive choice hardly makes up for what one indirect route costs if the choice is static",
            one.1 >= 1.0 - SAME,
            format!(
                "{:.3} if adaptive, {:.3} if static; of the exchange alone {:.3} and {:.3}: the queue at the first router shows when a route is full, so each carries what \
                 it can, 15 GB/s together instead of 10",
                one.1, one.0, exchange[0][1], exchange[0][0]
            ),
        ),
        statement(
            "two or three indirect routes are a clear improvement, whatever the choice",
            [two, three].iter().all(|pair| pair.0.max(pair.1) < 1.0 - SAME),
            format!(
                "{:.3} and {:.3} static, {:.3} and {:.3} adaptive{}",
                two.0,
                three.0,
                two.1,
                three.1,
                beside(3)
            ),
        ),
        statement(
            "adaptive choice is at least as good as any that is static",
            pairs.iter().all(|pair| pair.1 <= pair.0 + SAME),
            format!(
                "{} (no worse: at most {SAME} more)",
                pairs
                    .iter()
                    .map(|p| format!("{:.3} adaptive, {:.3} static", p.1, p.0))
                    .collect::<Vec<_>>()
                    .join("; ")
            ),
        ),
    ];
    all.extend(limits(found));
    all
}

/// What the paper says of the bound and of other applications.
fn limits(found: &Found) -> Vec<Statement> {
    let worst = found.cases.iter().map(|case| case.others).fold(0.0, f64::max);
    vec![
        statement(
            "many parallel links between racks are a bound below all indirect routes",
            found.cases.iter().all(|case| case.application >= found.bound - SAME),
            format!(
                "{:.3} with {MANY} links; the best indirect routes {:.3}",
                found.bound,
                found.cases.iter().map(|case| case.application).fold(f64::INFINITY, f64::min)
            ),
        ),
        statement(
            "indirect routes may hurt other applications",
            worst > 1.0 + SAME,
            format!("the slowest other partition takes up to {worst:.3} of its time beside direct routes"),
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

    /// Without background and with nothing but traffic between the racks the run times follow from rates alone.
    #[test]
    fn an_exchange_between_racks_takes_what_its_routes_carry() {
        let files = Place::Own.files(SPECIAL.name);
        let asked = testing::asked(Form::Smoke);
        let experiments = Experiments::new(&files, &asked, &Silent).unwrap();
        let found = exchange(&experiments).unwrap();
        for (ours, form) in found.iter().zip(closed_form()) {
            assert!((ours[0] / form[0] - 1.0).abs() < 0.06, "equal parts: {ours:?}, {form:?}");
            assert!(ours[1] < form[1] * 1.12 && ours[1] > form[1] * 0.98, "by queues: {ours:?}, {form:?}");
            assert!(ours[1] <= ours[0] + SAME, "adaptive is no worse: {ours:?}");
        }
        assert!(found[0][0] > 1.0 - SAME, "one static indirect route is no improvement");
        assert!(found[1..].iter().flatten().all(|time| *time < 0.75), "two and three are");
    }
}
