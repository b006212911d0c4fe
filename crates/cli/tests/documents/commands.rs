//! Commands of the documents are run, page by page, and what they print is compared with what stands below them.

use crate::page::{Block, Page, ROOT};
use base::sorted::SortedSet;
use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// Commands that only stand in blocks of language `console`.
const STARTS: &[&str] = &[
    "netloom run ",
    "netloom check ",
    "netloom sweep ",
    "netloom fabric ",
    "netloom compare ",
    "netloom trace ",
    "netloom portals ",
    "$ ",
    "cargo ",
    "mpirun ",
    "srun ",
    "pip ",
    "./test.sh",
];

/// Names that stand for what a reader has: such a command cannot be run, but its options can be looked at.
const PLACEHOLDERS: &[&str] =
    &["FILE", "DIR", "NETWORK", "KIND", "NAME", "SHELL", "EXPERIMENT", "..", "FIGURES"];

const NETLOOM: &str = env!("CARGO_BIN_EXE_netloom");

/// A directory of this process that vanishes at the end: the commands of a page run in it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let name = name.replace(['/', '.'], "-");
        let path = std::env::temp_dir().join(format!("netloom-documents-{}-{name}", std::process::id()));
        fs::create_dir_all(path.join("bin")).expect("a directory");
        let root = fs::canonicalize(ROOT).expect("the repository");
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            symlink(root.join("examples"), path.join("examples")).expect("a link");
            symlink(root.join("studies"), path.join("studies")).expect("a link");
            symlink(NETLOOM, path.join("bin/netloom")).expect("a link");
        }
        Self(path)
    }

    fn run(&self, command: &str) -> Output {
        let path = std::env::var("PATH").unwrap_or_default();
        let run = Command::new("bash")
            .args(["-c", &format!("exec 2>&1; {}", command.replace("cargo run --release -- ", "netloom "))])
            .current_dir(&self.0)
            .env("PATH", format!("{}:{path}", self.0.join("bin").display()))
            .env("NO_COLOR", "1")
            .output();
        run.expect("bash starts")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A directory that stays is no reason to fail.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A command and the lines that stand below it.
#[derive(Debug, PartialEq)]
struct Step {
    command: String,
    printed: Vec<String>,
}

/// Commands of a block: lines with a prompt, with what follows a backslash, and their output.
fn steps(block: &Block) -> Vec<Step> {
    let mut found: Vec<Step> = Vec::new();
    let mut goes_on = false;
    for line in &block.lines {
        if let (true, Some(step)) = (goes_on, found.last_mut()) {
            step.command.push('\n');
            step.command.push_str(line);
        } else if let Some(command) = line.strip_prefix("$ ") {
            found.push(Step { command: command.to_owned(), printed: Vec::new() });
        } else {
            found
                .last_mut()
                .unwrap_or_else(|| panic!("output without a command: {line}"))
                .printed
                .push(line.clone());
            continue;
        }
        goes_on = line.ends_with('\\');
    }
    found
}

/// A line without what differs from run to run: times of this machine, its memory, the program's revision.
fn masked(line: &str) -> String {
    let line = line.trim_end();
    let volatile = ["run time ", "speed  ", "netloom 0.", "time  "];
    volatile
        .iter()
        .find(|v| line.starts_with(**v))
        .map_or_else(|| line.to_owned(), |v| (*v).trim().to_owned())
}

/// A line as the program prints it without assertions: with them every run needs more memory.
fn without_assertions(line: &str) -> String {
    /// What it is then, in MiB.
    const FIXED: f64 = 30.0;
    let more = model::memory::FIXED as f64 / (1 << 20) as f64 - FIXED;
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let said = line.starts_with("memory      at most ") || line.ends_with(" MiB fixed");
    if let Some(unit) = words.iter().position(|word| said && word == "MiB") {
        let bytes: f64 = words[unit - 1].parse().expect("a number before its unit");
        words[unit - 1] = format!("{:.1}", bytes - more);
    }
    words.join(" ")
}

/// Whether these lines are printed; a line `...` stands for any number of lines.
fn fits(expected: &[String], printed: &[String]) -> bool {
    let Some((first, rest)) = expected.split_first() else { return printed.is_empty() };
    if first.trim() == "..." {
        return (0..=printed.len()).any(|skipped| fits(rest, &printed[skipped..]));
    }
    printed
        .split_first()
        .is_some_and(|(line, more)| masked(first) == masked(&without_assertions(line)) && fits(rest, more))
}

/// Runs a page's blocks in a directory of their own, and says what is not as the page has it.
fn differences(page: &Page) -> Vec<String> {
    let place = Place::new(&page.name);
    let mut found = Vec::new();
    for block in page.blocks() {
        let at = format!("{}:{}", page.name, block.line);
        if let Some(name) = block.mark.strip_prefix("file: ") {
            fs::write(place.0.join(name), block.lines.join("\n") + "\n").expect("a file");
        }
        if block.language != "console" || block.mark.starts_with("not run: ") {
            continue;
        }
        let steps = steps(&block);
        for (i, step) in steps.iter().enumerate() {
            let run = place.run(&step.command);
            let out = String::from_utf8_lossy(&run.stdout).into_owned();
            // Pages that the program writes hold what a run answers, not its remarks.
            let answers = |line: &&str| !page.is_made() || !line.starts_with("note: ");
            let printed: Vec<String> = out.trim_end().lines().filter(answers).map(str::to_owned).collect();
            let status = block.mark.strip_prefix("exit ").filter(|_| i + 1 == steps.len()).unwrap_or("0");
            if run.status.code().map(|c| c.to_string()).as_deref() != Some(status) {
                found.push(format!(
                    "{at}: `{}` ended with {}, not {status}:\n{out}",
                    step.command, run.status
                ));
            } else if !step.printed.is_empty() && !fits(&step.printed, &printed) {
                found.push(format!(
                    "{at}: `{}` prints\n{out}\n   and the page has\n{}",
                    step.command,
                    step.printed.join("\n")
                ));
            }
        }
    }
    found
}

/// Of the examples that were run when their page was made, every so manieth is run as a command too.
const SAMPLED: usize = 16;

/// Pages whose commands are run: of those that `netloom reference` makes, which runs most of their examples itself, a sample and the others.
fn run_pages(pages: Vec<Page>, long: bool) -> Vec<Page> {
    let (made, mut pages): (Vec<Page>, Vec<Page>) = pages.into_iter().partition(Page::is_made);
    let ran = |page: &Page| {
        let blocks = page.blocks();
        let mut lines = blocks.iter().filter(|b| b.language == "console").flat_map(|b| &b.lines);
        lines.all(|line| !line.starts_with("$ ") || line == "$ netloom run example.toml")
    };
    let chosen = made.into_iter().enumerate().filter(|(n, page)| long || n % SAMPLED == 0 || !ran(page));
    pages.extend(chosen.map(|(_, page)| page));
    pages
}

/// Each page in a thread of its own, two at a time. `NETLOOM_DOCUMENT=docs/flow.md` runs one page, `NETLOOM_LONG=1` all.
#[test]
#[cfg(unix)]
fn commands_print_what_the_pages_say() {
    let (one, long) = (std::env::var("NETLOOM_DOCUMENT"), std::env::var_os("NETLOOM_LONG").is_some());
    let mut pages = run_pages(Page::all(), long || one.is_ok());
    if let Ok(one) = one {
        pages.retain(|page| page.name == one);
    }
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(page) = pages.get(next.fetch_add(1, Relaxed)) {
                    let more = differences(page);
                    found.lock().expect("no thread panics").extend(more);
                }
            });
        }
    });
    let found = found.into_inner().expect("no thread panics");
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

/// A command stands where it is run, or says why it is not.
#[test]
fn commands_stand_in_blocks_that_are_run() {
    let found: Vec<String> = Page::all().iter().flat_map(misplaced).collect();
    assert!(
        found.is_empty(),
        "in no block `console`, or with names in it that nobody has:\n{}",
        found.join("\n")
    );
}

/// Commands of a page in blocks that are not run, and placeholders in blocks that are.
fn misplaced(page: &Page) -> Vec<String> {
    let mut found = Vec::new();
    for block in page.blocks().iter().filter(|b| b.language != "console" && !b.mark.starts_with("not run: "))
    {
        let starts = |line: &&String| STARTS.iter().any(|s| line.starts_with(s));
        let lines = block.lines.iter().filter(starts);
        found.extend(lines.map(|line| format!("{}:{}: {line}", page.name, block.line)));
    }
    for block in page.blocks().iter().filter(|b| b.language == "console") {
        let named = block.lines.iter().filter(|l| {
            l.starts_with("$ ") && PLACEHOLDERS.iter().any(|p| l.split_whitespace().any(|w| w == *p))
        });
        let open = named.filter(|_| !block.mark.starts_with("not run: "));
        found.extend(open.map(|line| format!("{}:{}: a placeholder in {line}", page.name, block.line)));
    }
    found
}

/// Lines of a source that a page shows: all but what the page's reader has no use for.
fn shown(source: &str) -> Vec<&str> {
    let own = |line: &&str| !["//! The program of", "#![", "#[path"].iter().any(|p| line.starts_with(p));
    source.lines().filter(own).skip_while(|line| line.is_empty()).collect()
}

/// A source that a page shows is the one that is compiled and tested, from its first line to its last.
#[test]
fn sources_on_pages_are_those_of_the_tree() {
    let mut compared = 0;
    for page in Page::all() {
        for block in page.blocks() {
            let Some(path) = block.mark.strip_prefix("source: ") else { continue };
            let source = fs::read_to_string(PathBuf::from(ROOT).join(path)).expect("a source");
            assert_eq!(block.lines, shown(&source), "{}:{}: {path}", page.name, block.line);
            compared += 1;
        }
    }
    assert!(compared > 0, "no page shows a source");
}

/// Planted: a command in a block of another language and a placeholder in one that is run are found; marked ones are not.
#[test]
fn misplaced_commands_are_found() {
    let blocks = |mark: &str| {
        format!(
            "{mark}```sh\nnetloom run a.toml\n```\n{mark}```console\n$ netloom run FILE\n$ netloom list\n```\n"
        )
    };
    let page = |mark: &str| Page { name: "x".to_owned(), text: blocks(mark) };
    assert_eq!(misplaced(&page("")), ["x:1: netloom run a.toml", "x:4: a placeholder in $ netloom run FILE"]);
    assert_eq!(misplaced(&page("<!-- not run: it is yours -->\n")), [""; 0]);
}

/// Arguments of a command of ours within a line, up to what is a placeholder of the shell or of the sentence.
fn arguments(line: &str) -> Option<Vec<String>> {
    let ours = line.starts_with("netloom ") || line.starts_with("mpirun ") || line.starts_with("srun ");
    let rest = &line[line.find("netloom ").filter(|_| ours)? + "netloom ".len()..];
    let rest = rest.replace("[--", "--");
    let mut words = Vec::new();
    let (mut word, mut quote, mut any) = (String::new(), None, false);
    for c in rest.chars() {
        match (quote, c) {
            (None, '\'' | '"') => (quote, any) = (Some(c), true),
            (Some(q), _) if q == c => quote = None,
            (None, '#') if !any => break,
            // Of several words that may stand here, as a table writes them, none is taken.
            (None, '\\') => {
                any = false;
                break;
            }
            (None, '|' | ';' | '&' | '>' | '<' | ')') => break,
            (None, ' ') => {
                if any {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            _ => {
                word.push(c);
                any = true;
            }
        }
    }
    if any {
        words.push(word);
    }
    // After two dashes, and after a program, stand others' arguments; two dots stand for whatever is left out.
    let end = |w: &String| {
        w == "--" || w.starts_with("..") || w.starts_with("./") || w.contains(['$', '[', ']', '`'])
    };
    words.truncate(words.iter().position(end).unwrap_or(words.len()));
    Some(words)
}

/// Whether what clap says is no more than that a placeholder stands for a value, or that a sentence leaves it out.
fn is_placeholder(message: &str) -> bool {
    let quoted = message.split('\'').nth(1).unwrap_or("");
    let upper = !quoted.is_empty() && quoted.chars().all(|c| c.is_ascii_uppercase());
    upper || message.contains("a value is required for")
}

/// Every command of the documents, in sentences and tables too, has options that exist: clap reads them before it comes to `--help`.
#[test]
fn options_of_commands_exist() {
    let mut all = SortedSet::new();
    for page in Page::all() {
        let text = page.without_blocks();
        let inline = text.split('`').skip(1).step_by(2).filter(|code| code.starts_with("netloom "));
        let blocks = page.blocks();
        let shell = blocks.iter().filter(|b| b.language == "console" || b.mark.starts_with("not run: "));
        let lines = shell.flat_map(|block| {
            block.lines.join("\n").replace("\\\n", " ").lines().map(str::to_owned).collect::<Vec<_>>()
        });
        let lines = lines.map(|line| line.trim_start_matches("$ ").to_owned());
        for line in inline.map(str::to_owned).chain(lines) {
            all.extend(arguments(&line).map(|words| (words, page.name.clone())));
        }
    }
    assert!(all.len() > 100, "{} commands", all.len());
    let found: Vec<String> = all
        .iter()
        .filter_map(|(words, page)| Some(format!("{page}: netloom {}: {}", words.join(" "), refused(words)?)))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// What clap says of a command that it refuses.
fn refused(words: &[String]) -> Option<String> {
    let run = Command::new(NETLOOM).args(words).arg("--help").output().expect("it starts");
    let message = String::from_utf8_lossy(&run.stderr).into_owned();
    (!run.status.success() && !is_placeholder(&message)).then_some(message)
}

/// Planted: an option and a command that do not exist are refused; a placeholder for a value is not.
#[test]
fn options_that_do_not_exist_are_found() {
    let of = |line: &str| refused(&arguments(line).expect("ours"));
    assert!(of("netloom run a.toml --no-such-option").is_some_and(|m| m.contains("--no-such-option")));
    assert!(of("netloom no-such-command").is_some());
    assert_eq!(of("netloom run a.toml --threads N"), None);
    assert_eq!(of("netloom run a.toml --out DIR"), None);
}

/// The page of commands has a row for each command and each exit code that the program's help has, with the same number.
#[test]
fn the_page_of_commands_is_whole() {
    let run = Command::new(NETLOOM).arg("--help").output().expect("it starts");
    let help = String::from_utf8_lossy(&run.stdout).into_owned();
    let page = Page::read("docs/commands.md").text;
    assert_eq!(lacking(&page, &help), [""; 0], "docs/commands.md lacks these");
    // Planted: a row of a command and one of an exit code are missed.
    let rows = ["| `netloom sweep", "\n| 12 | "];
    assert_eq!(
        lacking(&rows.iter().fold(page, |page, row| page.replacen(row, "", 1)), &help),
        ["sweep", "12"]
    );
}

/// Commands and exit codes of the program's help without a row on the page.
fn lacking(page: &str, help: &str) -> Vec<String> {
    let part = |head: &str| {
        help.split(head).nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or("").to_owned()
    };
    let first = |line: &str| line.split_whitespace().next().unwrap_or("").to_owned();
    let names: Vec<String> =
        part("\nCommands:\n").lines().filter(|l| !l.starts_with("   ")).map(first).collect();
    let codes: Vec<String> = part("\nExit codes:\n").lines().map(first).collect();
    assert!(names.len() > 20 && codes.len() == 13, "{names:?} {codes:?}");
    let mut missing: Vec<String> = names.into_iter().filter(|n| n != "help").collect();
    missing.retain(|name| !page.contains(&format!("| `netloom {name}")));
    missing.extend(codes.into_iter().filter(|code| !page.contains(&format!("\n| {code} | "))));
    missing
}

/// Planted: another line, a line more and another status are found; times are not.
#[test]
#[cfg(unix)]
fn differences_are_found() {
    let page = |text: &str| Page { name: "planted".to_owned(), text: text.to_owned() };
    let wrong = "```console\n$ echo one\ntwo\n$ printf 'a\\nb\\n'\na\n$ false\n```\n";
    assert_eq!(differences(&page(wrong)).len(), 3);
    let right = "<!-- file: x -->\n```text\none\n```\n<!-- exit 1 -->\n```console\n$ cat x\none\n$ echo 'run time 2' && seq \\\n  1 9\n\
                 run time 1\n...\n9\n$ false\n```\n<!-- not run: no reason -->\n```console\n$ false\n```\n";
    assert_eq!(differences(&page(right)), [""; 0]);
}

/// Planted: an example that no other test runs is run, one of many that were run is not, unless all are.
#[test]
fn what_no_other_test_runs_is_run() {
    let page = |n: usize, command: &str| Page {
        name: format!("docs/reference/{n}.md"),
        text: format!("```console\n$ {command}\nx\n```\n"),
    };
    let pages = || {
        let mut pages: Vec<Page> = (0..20).map(|n| page(n, "netloom run example.toml")).collect();
        pages.push(page(20, "netloom check example.toml"));
        pages.push(Page { name: "docs/x.md".to_owned(), text: String::new() });
        pages
    };
    let names: Vec<String> = run_pages(pages(), false).into_iter().map(|page| page.name).collect();
    let expected = ["docs/x.md", "docs/reference/0.md", "docs/reference/16.md", "docs/reference/20.md"];
    assert_eq!(names, expected);
    assert_eq!(run_pages(pages(), true).len(), 22);
}

/// How a line is cut into arguments.
#[test]
fn arguments_are_cut_as_a_shell_does() {
    let cut = |line| arguments(line).expect("ours").join("/");
    assert_eq!(
        cut("netloom run a.toml --set 'job.0.x=\"y z\"' --out d   # why"),
        "run/a.toml/--set/job.0.x=\"y z\"/--out/d"
    );
    assert_eq!(cut("netloom portals cc\\|run\\|replay"), "portals");
    assert_eq!(cut("netloom man [--out DIR]"), "man/--out");
    assert_eq!(arguments("podman build -t netloom -f F"), None);
    assert_eq!(cut("mpirun -n 2 netloom run f --x | cat"), "run/f/--x");
    assert_eq!(cut("netloom record --out f -- mpirun ./a"), "record/--out/f");
    assert_eq!(cut("netloom fabric import FILES.. --to x"), "fabric/import/FILES../--to/x");
}
