//! The pages into the book's folder, and its table of contents brought up to date.

use super::pages::{Page, pages};
use crate::{
    error::{Error, ErrorKind},
    ours,
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
/// The page that leads to the others.
const FIRST: &str = "reference.md";
/// Entries of the table of contents that stand together, before an empty line.
const TOGETHER: usize = 10;

/// Writes all pages and figures into the book's folder `book`. What its `reference` held before is removed, and a `SUMMARY.md` gets
/// the pages below its line that leads to `reference.md`. Gives the files that were written.
///
/// # Errors
/// If an example cannot be run or a file cannot be written; then the book is as it was, or lacks files. If the folder of the pages is there and no earlier reference
/// stands beside it: its files are somebody's.
pub fn write(registry: &Registry, book: &Path) -> Result<Vec<PathBuf>, Error> {
    let _claim = ours::claim(book)?;
    let folder = book.join(FOLDER);
    if folder.exists() && !book.join(FIRST).exists() {
        let message = format!("`{}` is no earlier reference, so its files are left alone", folder.display());
        return Err(Error::new(ErrorKind::Output, message).with_help("name another directory"));
    }
    ours::may_replace(&book.join(FIRST))?;
    let pages = pages(registry)?;
    pages.iter().try_for_each(|page| ours::may_replace(&book.join(&page.name)))?;
    let failed = |path: &Path, e: io::Error| {
        Error::new(ErrorKind::Output, format!("cannot write `{}`: {e}", path.display()))
    };
    clear(&folder).map_err(|e| failed(&folder, e))?;
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
        let new = listed(&old, &pages);
        if new != old {
            fs::write(&path, new).map_err(|e| failed(&path, e))?;
        }
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
        } else if path.extension().is_some_and(|e| e == "md" || e == "svg") && ours::is_free(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// The table of contents with the pages of the reference below its line that leads to them; without such a line as it was. Empty lines part lists and
/// long runs of entries, for those who read it as text.
fn listed(old: &str, pages: &[Page]) -> String {
    let (mut text, mut ours) = (String::new(), false);
    for line in old.lines() {
        let leads = line.contains(&format!("]({})", FIRST));
        let made = line.contains(&format!("]({FOLDER}/")) || (ours && line.is_empty());
        ours = made || leads;
        if !made {
            text += &format!("{line}\n");
        }
        if leads {
            let mut entries = 0;
            for (page, (title, depth)) in pages.iter().filter_map(|page| Some((page, page.entry.as_ref()?))) {
                entries = if *depth > 1 { entries + 1 } else { 0 };
                if entries % TOGETHER == 0 {
                    text.push('\n');
                }
                text += &format!("{}- [{title}]({}).\n", "  ".repeat(*depth), page.name);
            }
            text.push('\n');
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
            "# Summary\n\n- [Names](reference.md)\n\n  - [A](reference/a.md).\n    - [b](reference/a/b.md).\n\n- [Other](other.md)\n"
        );
        assert_eq!(listed(&new, &pages), new);
        let many: Vec<Page> = (0..25).map(|n| page(&format!("{n}.md"), Some(("x", 2)))).collect();
        let new = listed(old, &many);
        assert!(new.split("\n\n").all(|part| part.lines().count() <= TOGETHER), "{new}");
        assert_eq!(listed(&new, &many), new);
    }

    #[test]
    fn files_of_others_are_left_alone() {
        let folder = std::env::temp_dir().join(format!("netloom-shelve-{}", std::process::id()));
        let page = folder.join(FOLDER).join("own.md");
        fs::create_dir_all(folder.join(FOLDER)).unwrap();
        fs::write(&page, "mine").unwrap();
        let refused = write(&Registry::standard(), &folder).unwrap_err();
        assert!(refused.to_string().contains("is no earlier reference"), "{refused}");
        assert_eq!(fs::read_to_string(&page).unwrap(), "mine");
        // A page of the same name that somebody wrote, and one in the folder of an earlier reference.
        fs::write(folder.join(FIRST), "mine").unwrap();
        let refused = write(&Registry::standard(), &folder).unwrap_err();
        assert!(refused.to_string().contains("does not say"), "{refused}");
        fs::write(folder.join(FIRST), ours::COMMENT).unwrap();
        let old = folder.join(FOLDER).join("old.md");
        fs::write(&old, ours::COMMENT).unwrap();
        clear(&folder.join(FOLDER)).unwrap();
        assert!(page.exists() && !old.exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
