//! One value: from TOML to a checked [`Value`]; and back to JSON.

use super::tree::{Data, Node};
use base::{
    diag::Diagnostic,
    param::{Kind, Value},
    registry::nearest,
    units::{self, Family, UnitError},
};
use serde_json::{Value as Json, json};

/// Reads a value of the file as the parameter declares it.
///
/// # Errors
/// If its type, unit or range is wrong.
pub fn read(name: &str, kind: Kind, node: &Node) -> Result<Value, Box<Diagnostic>> {
    match (kind, &node.data) {
        (Kind::Int { min, max }, Data::Integer(n)) => integer(name, *n, min, max, node).map(Value::Int),
        (Kind::Ints { min, max }, Data::List(items)) => {
            let item = |item: &Node| match &item.data {
                Data::Integer(n) => integer(name, *n, min, max, item),
                _ => Err(mismatch(&format!("each entry of `{name}`"), Kind::Int { min, max }, item)),
            };
            Ok(Value::Ints(items.iter().map(item).collect::<Result<_, _>>()?))
        }
        (Kind::Real { min, max }, Data::Real(x)) => real(name, *x, min, max, node),
        (Kind::Real { min, max }, Data::Integer(Some(n))) => real(name, *n as f64, min, max, node),
        (Kind::Time | Kind::Bytes | Kind::Bandwidth, Data::Text(text)) => {
            kind.quantity(text).map_err(|e| unit_error(name, e, node))
        }
        (Kind::Time | Kind::Bytes | Kind::Bandwidth, Data::Integer(_) | Data::Real(_)) => {
            let bare = match node.data {
                Data::Integer(Some(n)) => n.to_string(),
                Data::Real(x) => x.to_string(),
                _ => "this number".to_owned(),
            };
            Err(unit_error(name, UnitError::bare_number(&bare, family(kind)), node))
        }
        (Kind::Bool, Data::Bool(b)) => Ok(Value::Bool(*b)),
        (Kind::Text | Kind::File, Data::Text(text)) => Ok(Value::Text(text.clone())),
        (Kind::Texts, Data::List(items)) => {
            let item = |item: &Node| match &item.data {
                Data::Text(text) => Ok(text.clone()),
                _ => Err(mismatch(&format!("each entry of `{name}`"), Kind::Text, item)),
            };
            Ok(Value::Texts(items.iter().map(item).collect::<Result<_, _>>()?))
        }
        (Kind::Choice(words), Data::Text(text)) => choice(name, words, text, node),
        _ => Err(mismatch(&format!("`{name}`"), kind, node)),
    }
}

/// The value as the file would write it.
#[must_use]
pub fn json(kind: Kind, value: &Value) -> Json {
    match value {
        Value::Int(n) if kind == Kind::Bytes => json!(units::print_bytes(*n)),
        Value::Int(n) => json!(n),
        Value::Ints(list) => json!(list),
        Value::Real(x) => json!(x),
        Value::Time(t) => json!(units::print_time(*t)),
        Value::Bandwidth(b) => json!(units::print_bandwidth(*b)),
        Value::Bool(b) => json!(b),
        Value::Text(text) => json!(text),
        Value::Texts(list) => json!(list),
    }
}

/// What a kind of value looks like, for messages and help: `a time such as "30 ns"`.
#[must_use]
pub fn wanted(kind: Kind) -> String {
    match kind {
        Kind::Int { .. } => "an integer".to_owned(),
        Kind::Ints { .. } => "a list of integers such as [4, 4]".to_owned(),
        Kind::Real { .. } => "a number".to_owned(),
        Kind::Time => "a time such as \"30 ns\"".to_owned(),
        Kind::Bytes => "a number of bytes such as \"16 KiB\"".to_owned(),
        Kind::Bandwidth => "a bandwidth such as \"25 GB/s\"".to_owned(),
        Kind::Bool => "true or false".to_owned(),
        Kind::Text => "text in quotes".to_owned(),
        Kind::Texts => "a list of texts such as [\"a\", \"b\"]".to_owned(),
        Kind::File => "the path of a file in quotes".to_owned(),
        Kind::Choice(words) => format!("one of {}", quoted(words.iter().copied())),
    }
}

/// `"a", "b", "c"`.
pub fn quoted<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", ")
}

fn family(kind: Kind) -> Family {
    match kind {
        Kind::Time => Family::Time,
        Kind::Bandwidth => Family::Bandwidth,
        _ => Family::Bytes,
    }
}

fn integer(name: &str, n: Option<i128>, min: u64, max: u64, node: &Node) -> Result<u64, Box<Diagnostic>> {
    let good = n.and_then(|n| u64::try_from(n).ok()).filter(|n| (min..=max).contains(n));
    good.ok_or_else(|| {
        // Who wrote more than 64 bits hold does not learn from the least number what is wrong.
        let large = n.is_none_or(|n| n > i128::from(max));
        let range = if max == u64::MAX && !large {
            format!("at least {min}")
        } else {
            format!("from {min} to {max}")
        };
        let is = n.map_or_else(|| "too large".to_owned(), |n| n.to_string());
        Box::new(
            Diagnostic::new(node.place, format!("`{name}` is {is}, but must be {range}"))
                .label("out of range"),
        )
    })
}

fn real(name: &str, x: f64, min: f64, max: f64, node: &Node) -> Result<Value, Box<Diagnostic>> {
    if (min..=max).contains(&x) {
        return Ok(Value::Real(x));
    }
    let range = match (min.is_finite(), max < f64::MAX) {
        (_, true) => format!("from {min} to {max}"),
        (true, false) => format!("at least {min}"),
        (false, false) => "a finite number".to_owned(),
    };
    let message = format!("`{name}` is {x}, but must be {range}");
    Err(Box::new(Diagnostic::new(node.place, message).label("out of range")))
}

fn choice(name: &str, words: &[&str], text: &str, node: &Node) -> Result<Value, Box<Diagnostic>> {
    if words.contains(&text) {
        return Ok(Value::Text(text.to_owned()));
    }
    let mut diagnostic =
        Diagnostic::new(node.place, format!("`{name}` cannot be \"{text}\"")).label("not one of its words");
    if let Some(near) = nearest(text, words.iter().copied()).first() {
        diagnostic = diagnostic.help(format!("did you mean \"{near}\"?"));
    }
    Err(Box::new(diagnostic.help(format!("it is one of {}", quoted(words.iter().copied())))))
}

fn unit_error(name: &str, error: UnitError, node: &Node) -> Box<Diagnostic> {
    let diagnostic = Diagnostic::new(node.place, format!("`{name}`: {}", error.message));
    Box::new(match error.help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    })
}

fn mismatch(what: &str, kind: Kind, node: &Node) -> Box<Diagnostic> {
    let noun = node.data.noun();
    let message = format!("{what} must be {}, not {noun}", wanted(kind));
    let diagnostic = Diagnostic::new(node.place, message).label(format!("this is {noun}"));
    let unquoted = match (kind, &node.data) {
        (Kind::Int { .. } | Kind::Real { .. }, Data::Text(t)) => t.parse::<f64>().is_ok(),
        (Kind::Bool, Data::Text(t)) => t == "true" || t == "false",
        _ => false,
    };
    Box::new(if unquoted { diagnostic.help("write it without quotes") } else { diagnostic })
}
