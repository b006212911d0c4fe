//! The experiment file as a tree in which every key and every value knows its place.
//!
//! This is TOML and nothing else: no key is known here and no value is judged.

use base::diag::{Diagnostic, Diagnostics, Place};
use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue},
};

/// Deepest nesting of tables and lists. No experiment needs more than five.
pub const MAX_DEPTH: usize = 32;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where the value stands; for a table, its header or opening key.
    pub place: Place,
    /// The value itself.
    pub data: Data,
}

/// A TOML value.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// A string, without its quotes.
    Text(String),
    /// An integer; `None` beyond 128 bits.
    Integer(Option<i128>),
    /// A real number.
    Real(f64),
    /// `true` or `false`.
    Bool(bool),
    /// A date or time of day, which no key takes.
    Date,
    /// A list, or the tables of `[[name]]`.
    List(Vec<Node>),
    /// A table: a section, or one in braces.
    Table(Table),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key, as it stands in the file.
    pub key: String,
    /// Where the key stands.
    pub key_place: Place,
    /// The value and where it stands.
    pub node: Node,
}

/// A table: keys in the parser's order, none twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Keys with their values.
    pub entries: Vec<Entry>,
}

impl Table {
    /// The entry of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.key == key)
    }

    /// The entry of a key, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|e| e.key == key)
    }
}

impl Data {
    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The table, if it is one.
    #[must_use]
    pub fn table(&self) -> Option<&Table> {
        match self {
            Self::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The type with its article, for messages.
    #[must_use]
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "an integer",
            Self::Real(_) => "a real number",
            Self::Bool(_) => "true or false",
            Self::Date => "a date",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Bytes of a file that are parsed before all of it is.
const HEAD: usize = 1 << 19;
/// Errors after which reading on is of no use: the file is of another kind.
const MOST: usize = 200_000;

/// Parses the text of `source`, which must be among the diagnostics' sources. On syntax errors these are reported, at
/// most one per line, and nothing is returned.
pub fn parse(source: usize, diagnostics: &mut Diagnostics) -> Option<Table> {
    let text = diagnostics.sources[source].text.clone();
    if text.len() > HEAD {
        // An error takes the parser hundreds of bytes, and a line of another kind of file has one in two.
        let head = &text[..text.floor_char_boundary(HEAD)];
        let (table, errors) = DeTable::parse_recoverable(head);
        dismantle(DeValue::Table(table.into_inner()));
        if errors.len().saturating_mul(text.len() / HEAD) > MOST {
            let message =
                "so many errors are in the first 512 KiB that it was read no further: it is no TOML";
            diagnostics.push(Diagnostic::new(Place { source, start: 0, end: 0 }, message));
            refused(source, head, &errors, diagnostics);
            return None;
        }
    }
    let (table, errors) = DeTable::parse_recoverable(&text);
    let table = table.into_inner();
    let before = diagnostics.len();
    let root = errors.is_empty().then(|| convert_table(source, &table, 0, diagnostics));
    dismantle(DeValue::Table(table));
    if errors.is_empty() {
        return root.filter(|_| diagnostics.len() == before);
    }
    refused(source, &text, &errors, diagnostics);
    None
}

/// Reports syntax errors, at most one per line.
fn refused(source: usize, text: &str, errors: &[toml::de::Error], diagnostics: &mut Diagnostics) {
    let place = |span: std::ops::Range<usize>| Place { source, start: span.start, end: span.end };
    let mut mistakes: Vec<_> =
        errors.iter().map(|e| (e.span().unwrap_or_else(|| deepest(text)), e.message())).collect();
    mistakes.sort_by_key(|(span, _)| (span.start, span.end));
    // One walk over the text: 50,000 errors are counted as soon as ten.
    let (mut at, mut line, mut last) = (0, 0, None);
    for (span, message) in mistakes {
        line += text.as_bytes()[at..span.start].iter().filter(|&&b| b == b'\n').count();
        at = span.start;
        if last.replace(line) != Some(line) {
            diagnostics.push(Diagnostic::new(place(span), message));
        }
    }
}

/// The line that nests most, for the parser's one error without a place: it gives up at some depth.
fn deepest(text: &str) -> std::ops::Range<usize> {
    let lines = text.split_inclusive('\n').scan(0, |at, line| {
        let start = std::mem::replace(at, *at + line.len());
        Some((line.bytes().filter(|b| b".[{".contains(b)).count(), start..start + line.trim_end().len()))
    });
    lines.max_by_key(|(levels, _)| *levels).map_or(0..0, |(_, line)| line)
}

/// Drops a value level by level: dropping it as a whole recurses, and a long dotted key would exhaust the stack.
fn dismantle(value: DeValue<'_>) {
    let mut work = vec![value];
    while let Some(value) = work.pop() {
        match value {
            DeValue::Array(items) => work.extend(items.into_iter().map(Spanned::into_inner)),
            DeValue::Table(table) => work.extend(table.into_iter().map(|(_, value)| value.into_inner())),
            _ => {}
        }
    }
}

fn too_deep(place: Place) -> Diagnostic {
    Diagnostic::new(place, format!("tables are nested more than {MAX_DEPTH} deep")).label("too deep")
}

fn convert_table(source: usize, table: &DeTable<'_>, depth: usize, diagnostics: &mut Diagnostics) -> Table {
    let place = |span: std::ops::Range<usize>| Place { source, start: span.start, end: span.end };
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table.iter() {
        let key_place = place(key.span());
        if depth >= MAX_DEPTH {
            diagnostics.push(too_deep(key_place));
            break;
        }
        let data = convert(source, value.get_ref(), depth + 1, diagnostics);
        let node = Node { place: place(value.span()), data };
        entries.push(Entry { key: key.get_ref().to_string(), key_place, node });
    }
    Table { entries }
}

fn convert(source: usize, value: &DeValue<'_>, depth: usize, diagnostics: &mut Diagnostics) -> Data {
    match value {
        DeValue::String(text) => Data::Text(text.to_string()),
        DeValue::Integer(number) => Data::Integer(i128::from_str_radix(number.as_str(), number.radix()).ok()),
        DeValue::Float(number) => Data::Real(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(value) => Data::Bool(*value),
        DeValue::Datetime(_) => Data::Date,
        DeValue::Array(items) => Data::List(convert_list(source, items, depth, diagnostics)),
        DeValue::Table(table) => Data::Table(convert_table(source, table, depth, diagnostics)),
    }
}

fn convert_list(
    source: usize,
    items: &DeArray<'_>,
    depth: usize,
    diagnostics: &mut Diagnostics,
) -> Vec<Node> {
    let mut list = Vec::with_capacity(items.len());
    for item in items.iter() {
        let place = Place { source, start: item.span().start, end: item.span().end };
        if depth >= MAX_DEPTH {
            diagnostics.push(too_deep(place));
            break;
        }
        list.push(Node { place, data: convert(source, item.get_ref(), depth + 1, diagnostics) });
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Option<Table>, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let source = diagnostics.add_source("x.toml", text);
        (parse(source, &mut diagnostics), diagnostics)
    }

    /// Whatever its size, and a large file of TOML is read whole.
    #[test]
    fn a_large_file_of_another_kind_is_not_read_on() {
        let (table, diagnostics) = parsed(&"1\n".repeat(HEAD));
        assert!(table.is_none() && diagnostics.len() <= HEAD / 2 + 1, "{}", diagnostics.len());
        assert!(diagnostics.sorted()[0].message.contains("read no further"));
        let list = format!("a = [\n{}]\nb = 1\nb = 2\n", "1,\n".repeat(HEAD));
        let (table, diagnostics) = parsed(&list);
        assert!(table.is_none() && diagnostics.len() == 1, "{diagnostics}");
    }

    #[test]
    fn every_key_and_value_knows_its_place() {
        let (table, diagnostics) = parsed("[a]\nlink.b = { c = \"1 ns\" }\n[[job]]\nload = 0.5\n");
        let table = table.unwrap();
        let a = table.get("a").unwrap();
        assert_eq!(diagnostics.text(a.key_place), "a");
        let Data::Table(a) = &a.node.data else { panic!("a table") };
        let Data::Table(link) = &a.get("link").unwrap().node.data else { panic!("a table") };
        let Data::Table(b) = &link.get("b").unwrap().node.data else { panic!("a table") };
        let c = b.get("c").unwrap();
        assert_eq!((diagnostics.text(c.key_place), diagnostics.text(c.node.place)), ("c", "\"1 ns\""));
        assert_eq!(c.node.data, Data::Text("1 ns".to_owned()));
        let Data::List(jobs) = &table.get("job").unwrap().node.data else { panic!("a list") };
        assert_eq!(diagnostics.text(jobs[0].place), "[[job]]");
    }

    #[test]
    fn integers_of_any_size_and_radix() {
        let (table, _) = parsed("a = 0x1F\nb = 1_000\nc = -5\n");
        let table = table.unwrap();
        let integer = |key: &str| table.get(key).unwrap().node.data.clone();
        assert_eq!(integer("a"), Data::Integer(Some(31)));
        assert_eq!(integer("b"), Data::Integer(Some(1000)));
        assert_eq!(integer("c"), Data::Integer(Some(-5)));
    }

    #[test]
    fn all_syntax_errors_at_once() {
        let (table, diagnostics) = parsed("a = 1\na = 2\nb = \n");
        assert!(table.is_none());
        assert_eq!(diagnostics.len(), 2);
    }

    #[test]
    fn absurd_nesting_is_refused() {
        for text in [
            format!("{}a = 1", "a.".repeat(100_000)),
            format!("[{}a]", "a.".repeat(100_000)),
            format!("a = {}", "[".repeat(100_000)),
            format!("a = {}1{}", "[".repeat(60), "]".repeat(60)),
            format!("a = {}", "{a=".repeat(100_000)),
            format!("a = {{ {}a = 1 }}", "a.".repeat(100_000)),
            format!("\"a\".{}a = 1", "\"a\".".repeat(100_000)),
            format!("[\"a\".{}a]", "\"a\".".repeat(100_000)),
            format!("a = {{ x = 1, {}a = 1 }}", "\"a\".".repeat(100_000)),
        ] {
            let (table, diagnostics) = parsed(&text);
            assert!(table.is_none() && !diagnostics.is_empty());
            // The parser says of some where they are; of the others the line is found.
            let (_, below) = parsed(&format!("b = 1\n{text}"));
            assert!(below.to_string().contains(":2:"), "{below}");
        }
    }
}
