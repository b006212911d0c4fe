//! A page of Markdown, cut into what the tests look at.

use std::{fs, path::Path};

/// Root of the repository, from where tests of this crate run.
pub const ROOT: &str = "../..";

/// Documents beside the book.
pub const BESIDE: &[&str] =
    &["README.md", "BENCHMARKS.md", "SECURITY.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md"];

/// A piece of a page.
#[derive(Debug, PartialEq)]
pub enum Piece {
    /// A heading's text.
    Heading(String),
    /// Sentences: a paragraph or an entry of a list, its lines joined.
    Prose(String),
    /// A row of a table.
    Row(String),
    /// A block between fences.
    Block(Block),
}

/// A block between fences.
#[derive(Debug, PartialEq)]
pub struct Block {
    /// Number of its first line within the page.
    pub line: usize,
    /// What stands behind the opening fence.
    pub language: String,
    /// The comment of HTML on the line above, without its brackets.
    pub mark: String,
    /// The lines between the fences.
    pub lines: Vec<String>,
}

/// A document of the repository.
pub struct Page {
    /// Name from the root of the repository, as in `docs/flow.md`.
    pub name: String,
    /// All of its text.
    pub text: String,
}

/// Names of all files in a folder of the repository and in the folders below it.
pub fn files(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(Path::new(ROOT).join(folder)).unwrap_or_else(|e| panic!("{folder}: {e}"));
    let mut names = Vec::new();
    for entry in entries.map(|entry| entry.expect("an entry")) {
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            names.extend(files(&name));
        } else {
            names.push(name);
        }
    }
    names
}

impl Page {
    /// Reads a document of the repository by its name from the root.
    pub fn read(name: &str) -> Self {
        let path = Path::new(ROOT).join(name);
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Self { name: name.to_owned(), text }
    }

    /// The pages of the book, sorted by name; those of the reference lie in folders.
    pub fn book() -> Vec<Self> {
        let mut names: Vec<String> = files("docs").into_iter().filter(|name| name.ends_with(".md")).collect();
        names.sort();
        names.iter().map(|name| Self::read(name)).collect()
    }

    /// True of pages that `netloom reference` writes.
    pub fn is_made(&self) -> bool {
        self.name.starts_with("docs/reference")
    }

    /// The book and the documents beside it.
    pub fn all() -> Vec<Self> {
        let mut pages: Vec<Self> = BESIDE.iter().map(|name| Self::read(name)).collect();
        pages.extend(Self::book());
        pages
    }

    /// What the page consists of.
    pub fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut prose: Vec<&str> = Vec::new();
        let mut open: Option<Block> = None;
        let mut mark = String::new();
        let end = |prose: &mut Vec<&str>, pieces: &mut Vec<Piece>| {
            if !prose.is_empty() {
                pieces.push(Piece::Prose(prose.join(" ")));
                prose.clear();
            }
        };
        for (number, whole) in self.text.lines().enumerate() {
            let line = whole.trim();
            if let Some(mut block) = open.take() {
                if line.starts_with("```") {
                    pieces.push(Piece::Block(block));
                } else {
                    block.lines.push(whole.to_owned());
                    open = Some(block);
                }
                continue;
            }
            let own = line.is_empty()
                || line.starts_with(['#', '|'])
                || line.starts_with("```")
                || line.starts_with("<!--");
            if own {
                end(&mut prose, &mut pieces);
            }
            if let Some(language) = line.strip_prefix("```") {
                let language = language.to_owned();
                open = Some(Block {
                    line: number + 1,
                    language,
                    mark: std::mem::take(&mut mark),
                    lines: Vec::new(),
                });
            } else if let Some(comment) = line.strip_prefix("<!--") {
                comment.trim_end_matches("-->").trim().clone_into(&mut mark);
            } else if line.starts_with('#') {
                pieces.push(Piece::Heading(line.trim_start_matches('#').trim().to_owned()));
            } else if line.starts_with('|') {
                pieces.push(Piece::Row(line.to_owned()));
            } else if !line.is_empty() {
                let entry = line.strip_prefix("- ").or_else(|| {
                    let (number, rest) = line.split_once(". ")?;
                    number.chars().all(|c| c.is_ascii_digit()).then_some(rest)
                });
                if entry.is_some() {
                    end(&mut prose, &mut pieces);
                }
                prose.push(entry.unwrap_or(line));
            }
        }
        end(&mut prose, &mut pieces);
        assert!(open.is_none(), "{}: a block has no end", self.name);
        pieces
    }

    /// The blocks between fences.
    pub fn blocks(&self) -> Vec<Block> {
        let block = |piece| if let Piece::Block(block) = piece { Some(block) } else { None };
        self.pieces().into_iter().filter_map(block).collect()
    }

    /// All but the blocks, as one text.
    pub fn without_blocks(&self) -> String {
        let text = |piece| match piece {
            Piece::Heading(text) | Piece::Prose(text) | Piece::Row(text) => Some(text),
            Piece::Block(_) => None,
        };
        self.pieces().into_iter().filter_map(text).collect::<Vec<_>>().join("\n")
    }
}

/// The cutting itself, on a page with everything.
#[test]
fn a_page_is_cut_into_its_pieces() {
    let text = "# One\nTwo\nthree.\n\n- four\n- five\n  six\n| a | b |\n<!-- exit 3 -->\n```console\n$ x\n\n```\nend\n";
    let page = Page { name: "x".to_owned(), text: text.to_owned() };
    let prose = |text: &str| Piece::Prose(text.to_owned());
    let block = Block {
        line: 10,
        language: "console".to_owned(),
        mark: "exit 3".to_owned(),
        lines: vec!["$ x".to_owned(), String::new()],
    };
    let expected = [
        Piece::Heading("One".to_owned()),
        prose("Two three."),
        prose("four"),
        prose("five six"),
        Piece::Row("| a | b |".to_owned()),
        Piece::Block(block),
        prose("end"),
    ];
    assert_eq!(page.pieces(), expected);
}
