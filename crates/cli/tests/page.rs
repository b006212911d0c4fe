//! The page of runs: what is on it, that it is the same each time, and what a browser makes of it.

use crate::common::netloom;
use base::sorted::SortedMap;
use results::table::{Column, Table};
use serde_json::Value as Json;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A dragonfly small enough to run in no time, with everything recorded that a page can show.
const FILE: &str = r#"
experiment = { name = "NAME", duration = "40 us" }
fabric = { topology = "dragonfly", groups = 5, routers_per_group = 2, terminals_per_router = 2, global_ports_per_router = 2, link.terminal = LINK, link.local = LINK, link.global = LINK }
routing = { algorithm = "minimal" }
job = [
  { name = "NAME", workload = "uniform", message = "1024 B", load = 0.3, ranks = 10 },
  { name = "halo", workload = "stencil", dims = [2, 2], face_bytes = "4 KiB", iterations = 3, compute_time = "2 us", ranks = 4 },
]
model = { kind = "packet", packet = "1024 B", chunk = "128 B", vcs = 4 }
output = { window = "1 us", pairs = true, operations = true }
"#;

const LINK: &str =
    r#"{ bandwidth = "4 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "16 KiB" }"#;

/// A name that is markup, closes elements, turns the direction of reading and speaks to terminals.
const HOSTILE: &str =
    r#"</script><script>window.hit=1</script><img src=x onerror=window.hit=1>'\u202e\u001b[31m"#;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("text").to_owned()
    }

    /// A table that a run stored.
    fn table(&self, out: &str, name: &str) -> Table {
        let path = self.0.path().join(out).join(format!("{name}.parquet"));
        results::parquet_out::read(name, fs::File::open(path).expect("a table")).expect("Parquet").0
    }

    /// Runs the experiment under a name and gives its page.
    fn run(&self, name: &str, out: &str, more: &[&str]) -> String {
        let file = self.path("a.toml");
        fs::write(&file, FILE.replace("NAME", name).replace("LINK", LINK)).expect("written");
        let out = self.path(out);
        let run = netloom(&[&["run", &file, "--out", &out][..], more].concat());
        assert_eq!(run.status, 0, "{}{}", run.out, run.err);
        fs::read_to_string(Path::new(&out).join("report.html")).expect("a page")
    }
}

/// Values of an attribute, in order.
fn values<'a>(page: &'a str, before: &str) -> Vec<&'a str> {
    page.split(before).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn everything_is_there_and_nothing_is_fetched() {
    let place = Place::new();
    let page = place.run("small", "a", &[]);
    assert_eq!(
        values(&page, "<section id=\""),
        ["numbers", "network", "latency", "time", "links", "traffic", "jobs", "made"]
    );
    let figures = page.split("<figure").skip(1).filter_map(|f| f.split("id=\"").nth(1)?.split('"').next());
    assert_eq!(
        figures.collect::<Vec<_>>(),
        [
            "map0",
            "cdf-packet",
            "cdf-message",
            "parts",
            "hops",
            "throughput",
            "occupancy",
            "latency-time",
            "matrix",
            "sizes",
            "timeline",
            "ranks"
        ]
    );
    for outside in ["http://", "https://", "@import", "url(http", " src="] {
        let mut places = page.match_indices(outside).map(|(at, _)| &page[at..(at + 40).min(page.len())]);
        assert!(places.all(|p| p.starts_with("http://www.w3.org/2000/svg")), "{outside}");
    }
    assert!(page.contains("default-src 'none'") && page.contains("netloom run "));
    assert!(page.find("class=\"verdict") < page.find("<section"), "the verdict leads");
}

/// Bytes do not depend on when, where and how it ran; a page made later is the same.
#[test]
fn the_same_results_give_the_same_page() {
    let place = Place::new();
    let first = place.run("small", "a", &[]);
    assert!(
        first == place.run("small", "b", &["--threads", "2", "--set", "engine.partitions=2"]),
        "pages differ"
    );
    let (a, b, both) = (place.path("a"), place.path("b"), place.path("both.html"));
    let again = netloom(&["report", &a, "--force"]);
    assert_eq!((again.status, again.err.as_str()), (0, ""));
    let made = fs::read_to_string(Path::new(&a).join("report.html")).expect("a page");
    assert!(first == made, "read back, it is another page");
    let (svg, both_made) = (place.path("net.svg"), ["report", &a, &b, "--out", &both, "--svg"]);
    assert_eq!(netloom(&[&both_made[..], &[&svg]].concat()).status, 0);
    let page = fs::read_to_string(&both).expect("a page");
    assert!(page.contains("id=\"map1\"") && page.contains("<th scope=\"col\">b</th>"));
    let mut ids: Vec<&str> = values(&page, " id=\"");
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert!(ids.len() == all && ids.contains(&"run1-matrix"), "{ids:?}");
    let picture = fs::read_to_string(&svg).expect("a picture");
    assert!(picture.starts_with("<svg xmlns") && picture.contains("<animate "));
    let refused = netloom(&["report", &a, &b, "--out", &both]);
    assert!(refused.status == 7 && refused.err.contains("exists already"), "{}", refused.err);
    // Refused before anything is written: a page beside a picture that may not be is no half answer.
    let other = place.path("other.html");
    let refused = netloom(&["report", &a, "--out", &other, "--svg", &svg]);
    assert!(refused.status == 7 && refused.err.contains("exists already"), "{}", refused.err);
    assert!(!Path::new(&other).exists(), "the page was written, the picture refused");
    let refused = netloom(&["report", &a, "--out", &other, "--svg", &other]);
    assert!(refused.status == 7 && refused.err.contains("cannot both be"), "{}", refused.err);
    assert_eq!(netloom(&["report", &place.path("nowhere")]).status, 4);
    let lost = place.path("no/such/folder/page.html");
    let failed = netloom(&["report", &a, "--out", &lost]);
    assert!(failed.status == 7 && failed.err.contains(&lost), "{}", failed.err);
}

#[test]
fn it_can_be_switched_off() {
    let place = Place::new();
    place.run("small", "a", &[]);
    let (file, out) = (place.path("a.toml"), place.path("b"));
    assert_eq!(netloom(&["run", &file, "--out", &out, "--set", "output.report=false"]).status, 0);
    let there = |name: &str| Path::new(&out).join(name).exists();
    assert!(!there("report.html") && !there("loads.parquet") && there("links.parquet"));
    // What the picture needs changes nothing else.
    for same in ["links", "series", "latencies", "topology", "pairs", "operations"] {
        assert!(place.table("a", same) == place.table("b", same), "{same} differs");
    }
    let compared = netloom(&["compare", &place.path("a"), &out, "--tolerance", "0"]);
    assert!(compared.status == 0 && compared.out.contains("same fingerprint"), "{}", compared.out);
}

/// The picture in motion and the tables of the whole run count the same bytes.
#[test]
fn intervals_sum_up_to_the_run() {
    let place = Place::new();
    place.run("small", "a", &[]);
    let (links, loads) = (place.table("a", "links"), place.table("a", "loads"));
    let number = |table: &Table, name: &str| match table.column(name) {
        Some(Column::U32(values)) => values.iter().map(|&v| u64::from(v)).collect(),
        Some(Column::U64(values)) => values.clone(),
        _ => panic!("{name}"),
    };
    let mut sums = SortedMap::<u64, u64>::new();
    for (link, bytes) in number(&loads, "link").into_iter().zip(number(&loads, "bytes")) {
        *sums.entry(link).or_default() += bytes;
    }
    let chunks = number(&links, "link").into_iter().zip(number(&links, "chunks")).filter(|c| c.1 > 0);
    let whole: SortedMap<u64, u64> = chunks.map(|(link, chunks)| (link, chunks * 128)).collect();
    assert!(whole.len() > 40, "{} links", whole.len());
    assert_eq!(sums, whole);
}

#[test]
fn names_are_words_whatever_they_hold() {
    let place = Place::new();
    let page = place.run(&HOSTILE.replace('"', "\\\""), "a", &[]);
    assert!(!page.contains("<script>window") && !page.contains("<img"));
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'));
    assert_eq!(page.matches("</script>").count(), page.matches("<script").count());
}

/// What is done with a page in a browser before it is looked at; the answer is the text of the document's last element.
const ASKED: &str = r##"
<script>
addEventListener("load", () => setTimeout(() => {
  const said = {};
  const map = document.querySelector("#map0"), lines = [...map.querySelectorAll("path")];
  const classes = () => lines.map((line) => line.getAttribute("class")).join(" ");
  const slider = map.querySelector("input"), tip = document.getElementById("tip");
  const before = classes(), top = () => map.querySelector(".top").textContent;
  said.tops = [top()];
  said.spoken = [slider.getAttribute("aria-valuetext")];
  slider.value = 1;
  slider.dispatchEvent(new Event("input"));
  said.moved = before !== classes();
  said.time = map.querySelector("output").textContent;
  said.tops.push(top());
  said.spoken.push(slider.getAttribute("aria-valuetext"));
  const button = map.querySelector("button");
  button.click();
  said.playing = [button.textContent, button.getAttribute("aria-pressed"), map.querySelector("output").getAttribute("aria-live")];
  button.click();
  said.playing.push(button.textContent);
  said.lanes = [...document.querySelectorAll(".lanes")].map((lanes) => lanes.querySelectorAll("text.mid").length);
  const over = (element) => element.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: 300, clientY: 300 }));
  over(lines[0]);
  said.link = tip.hidden ? "" : tip.textContent;
  said.charts = [...document.querySelectorAll("figure.chart")].map((figure) => {
    tip.hidden = true;
    const area = figure.querySelector(".picture"), target = area.querySelector("[data-t]") || (figure === map ? lines[0] : area);
    over(target);
    const hover = tip.hidden ? "" : tip.textContent;
    tip.hidden = true;
    area.focus();
    area.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    return { id: figure.id, wide: area.getBoundingClientRect().width, high: area.getBoundingClientRect().height, hover, key: tip.hidden ? "" : tip.textContent };
  });
  const light = (colour) => { const [r, g, b] = colour.match(/\d+/g).map(Number); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const style = getComputedStyle(document.body);
  said.ground = light(style.backgroundColor);
  said.ink = light(style.color);
  said.words = Math.min(...[...document.querySelectorAll("p, td, th, summary, svg text")].map((element) => {
    const own = getComputedStyle(element);
    return Math.abs(light(element.namespaceURI.includes("svg") ? own.fill : own.color) - said.ground);
  }));
  said.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  said.hit = window.hit || 0;
  said.errors = window.errors;
  const answer = document.createElement("pre");
  answer.id = "answer";
  answer.textContent = JSON.stringify(said);
  document.body.append(answer);
}, 0));
</script>
</body>"##;

/// Hears of errors from the begin.
const LISTENS: &str = r#"<head><script>window.errors = []; addEventListener("error", (e) => errors.push(String(e.message || e.target.outerHTML)), true);
for (const kind of ["error", "warn"]) console[kind] = (...words) => errors.push(words.join(" "));
addEventListener("securitypolicyviolation", (e) => errors.push(e.violatedDirective + " " + e.blockedURI));</script>"#;

fn browser() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&folders).flat_map(|f| names.map(|n| f.join(n))).find(|path| path.is_file())
}

/// Opens a page in a browser and asks it [`ASKED`].
fn ask(browser: &Path, place: &Place, page: &str, dark: bool) -> Json {
    let asked = page.replacen("<head>", LISTENS, 1).replacen("</body>", ASKED, 1);
    let file = place.path("asked.html");
    fs::write(&file, asked).expect("written");
    let scheme = if dark { 0 } else { 1 };
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1160,900"])
        .arg(format!("--user-data-dir={}", place.path("profile")))
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .args(["--virtual-time-budget=3000", "--dump-dom"])
        .arg(format!("file://{file}"))
        .output()
        .expect("the browser starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let answer = text.split("<pre id=\"answer\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    let answer = answer.unwrap_or_else(|| panic!("no answer: {}", String::from_utf8_lossy(&output.stderr)));
    let plain =
        answer.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
    serde_json::from_str(&plain).expect("an answer")
}

#[test]
fn a_browser_shows_it() {
    let Some(browser) = browser() else {
        eprintln!("SKIPPED: no chromium; crates/report/install-browser.sh installs it");
        return;
    };
    let place = Place::new();
    for (name, dark) in [("small", false), (HOSTILE, true)] {
        let page = place.run(&name.replace('"', "\\\""), if dark { "b" } else { "a" }, &[]);
        let said = ask(&browser, &place, &page, dark);
        assert_eq!(said["errors"], serde_json::json!([]), "{said:#}");
        assert_eq!(said["hit"], 0);
        assert!(
            said["moved"] == true && said["time"].as_str().is_some_and(|t| t.contains(" to ")),
            "{said:#}"
        );
        // The scale ends near the busiest link: another one for the whole run than for an interval; and both are told.
        let tops: Vec<&str> = said["tops"].as_array().expect("two").iter().filter_map(Json::as_str).collect();
        assert!(
            tops.len() == 2 && tops[0] != tops[1] && tops.iter().all(|top| top.ends_with(" %")),
            "{tops:?}"
        );
        assert_eq!(said["spoken"], serde_json::json!(["whole run", said["time"]]));
        assert_eq!(said["playing"], serde_json::json!(["Pause", "true", "off", "Play"]));
        let axes = said["lanes"].as_array().expect("time lines");
        assert!(axes.len() == 2 && axes.iter().all(|words| words.as_u64() > Some(3)), "{axes:?}");
        assert!(said["link"].as_str().is_some_and(|t| t.contains('%') && t.contains("router")), "{said:#}");
        let charts = said["charts"].as_array().expect("charts");
        assert_eq!(charts.len(), 12);
        for chart in charts {
            let seen = ["wide", "high"].iter().all(|side| chart[side].as_f64().is_some_and(|s| s > 60.0));
            let says =
                |how: &str| chart[how].as_str().is_some_and(|t| t.contains(|c: char| c.is_ascii_digit()));
            assert!(seen && says("hover") && says("key"), "{chart:#}");
        }
        let number = |what: &str| said[what].as_f64().expect("a number");
        assert_eq!(number("ground") < 60.0, dark, "{said:#}");
        assert!((number("ground") - number("ink")).abs() > 150.0 && number("words") > 60.0, "{said:#}");
        assert!(number("overflow") < 2.0, "wider than the window");
    }
}
