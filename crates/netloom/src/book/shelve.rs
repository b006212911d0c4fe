//! The pages into the book's folder, and its table of contents brought up to date.

use super::pages::{Page, pages};
use crate::{
    error::{Error, ErrorKind},
    reference::reference,
    registry::Registry,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The book's table of contents.
const CONTENTS: &str = "SUMMARY.md";
/// The folder of the pages within the book's.
const FOLDER: &str = "reference";

/// Writes all pages and figures into the book's folder `book`. What its `reference` held before is removed, and a `SUMMARY.md` gets
/// the pages below its line that leads to `reference.md`. Gives the files that were written.
///
/// # Errors
/// If an example cannot be run or a file cannot be written; then the book is as it was, or lacks files.
pub fn write(registry: &Registry, book: &Path) -> Result<Vec<PathBuf>, Error> {
    let pages = pages(registry)?;
    let failed = |path: &Path, e: io::Error| {
        Error::new(ErrorKind::Output, format!("cannot write `{}`: {e}", path.display()))
    };
    clear(&book.join(FOLDER)).map_err(|e| failed(&book.join(FOLDER), e))?;
    let mut written = Vec::new();
    for page in &pages {
        let path = book.join(&page.name);
        let folder = path.parent().unwrap_or(book);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, &page.text))
            .map_err(|e| failed(&path, e))?;
        written.push(path);
    }
    let path = book.join(CONTENTS);
    if let Ok(old) = fs::read_to_string(&path) {
        fs::write(&path, listed(&old, &pages)).map_err(|e| failed(&path, e))?;
        written.push(path);
    }
    Ok(written)
}

/// The reference as one text; with a book's folder its pages are written there, and the text says how many files that were.
///
/// # Errors
/// As [`write()`].
pub fn printed(registry: &Registry, book: Option<&Path>) -> Result<String, Error> {
    let Some(book) = book else { return Ok(reference(registry)) };
    Ok(format!("{} files in {}\n", write(registry, book)?.len(), book.display()))
}

/// Removes pages and figures of an earlier reference, and nothing else.
fn clear(folder: &Path) -> io::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            clear(&path)?;
        } else if path.extension().is_some_and(|e| e == "md" || e == "svg") {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// The table of contents with the pages of the reference below its line that leads to them; without such a line as it was.
fn listed(old: &str, pages: &[Page]) -> String {
    let mut text = String::new();
    for line in old.lines().filter(|line| !line.contains(&format!("]({FOLDER}/"))) {
        text += &format!("{line}\n");
        if line.contains("](reference.md)") {
            for (page, (title, depth)) in pages.iter().filter_map(|page| Some((page, page.entry.as_ref()?))) {
                text += &format!("{}- [{title}]({})\n", "  ".repeat(*depth), page.name);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_name_each_page_once_however_often_they_are_made() {
        let page = |name: &str, entry: Option<(&str, usize)>| Page {
            name: format!("reference/{name}"),
            text: String::new(),
            entry: entry.map(|(title, depth)| (title.to_owned(), depth)),
        };
        let pages = [page("a.md", Some(("A", 1))), page("a/b.md", Some(("b", 2))), page("a/b.svg", None)];
        let old =
            "# Summary\n\n- [Names](reference.md)\n  - [gone](reference/gone.md)\n- [Other](other.md)\n";
        let new = listed(old, &pages);
        assert_eq!(
            new,
            "# Summary\n\n- [Names](reference.md)\n  - [A](reference/a.md)\n    - [b](reference/a/b.md)\n- [Other](other.md)\n"
        );
        assert_eq!(listed(&new, &pages), new);
    }
}
