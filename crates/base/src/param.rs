//! Typed parameters that registered strategies declare and receive.
//!
//! A strategy declares [`Param`]s; the experiment reader checks types, ranges and unknown keys against them, fills
//! in defaults and hands over [`Values`]. What only the strategy can judge it refuses with a [`Problem`] that names
//! the key, which the reader turns into a diagnostic with line and caret.

use crate::{
    rate::Bandwidth,
    time::Ps,
    units::{self, UnitError},
};
use std::collections::BTreeMap;

/// One key of a strategy.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Key in the experiment file.
    pub name: &'static str,
    /// Type and range.
    pub kind: Kind,
    /// Written as in the file (`"100 ns"`, `4`, `true`); `None` makes the key mandatory, an empty one of another kind than text
    /// makes it optional.
    pub default: Option<&'static str>,
    /// Meaning and unit.
    pub doc: &'static str,
}

/// Type and range of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Integer within the closed range.
    Int {
        /// The smallest value that is allowed.
        min: u64,
        /// The largest value that is allowed.
        max: u64,
    },
    /// List of integers, each within the closed range.
    Ints {
        /// The smallest value that is allowed.
        min: u64,
        /// The largest value that is allowed.
        max: u64,
    },
    /// Real number within the closed range.
    Real {
        /// The smallest value that is allowed.
        min: f64,
        /// The largest value that is allowed.
        max: f64,
    },
    /// Time with its unit, such as `"30 ns"`.
    Time,
    /// Number of bytes with its unit, such as `"16 KiB"`.
    Bytes,
    /// Bandwidth with its unit, such as `"2 GiB/s"`.
    Bandwidth,
    /// True or false.
    Bool,
    /// Any text, the empty one included.
    Text,
    /// List of texts.
    Texts,
    /// Path of an input file. The experiment reader makes it relative to the working directory; whoever builds the
    /// strategy reads it, and reports errors in it by [`Problem::at`].
    File,
    /// One of these words.
    Choice(&'static [&'static str]),
}

impl Kind {
    /// Reads a time, a number of bytes or a bandwidth with its unit.
    ///
    /// # Errors
    /// If the text is none.
    ///
    /// # Panics
    /// If values of this kind have no units.
    pub fn quantity(self, text: &str) -> Result<Value, UnitError> {
        match self {
            Self::Time => units::parse_time(text).map(Value::Time),
            Self::Bytes => units::parse_bytes(text).map(Value::Int),
            Self::Bandwidth => units::parse_bandwidth(text).map(Value::Bandwidth),
            _ => panic!("values of {self:?} have no units"),
        }
    }
}

impl Param {
    /// True if the key may be left out and then has no value at all: its default is empty, and it is no text.
    #[must_use]
    pub fn is_optional(&self) -> bool {
        self.default == Some("") && self.kind != Kind::Text
    }

    /// The declared default; `None` if the key is mandatory or [optional](Self::is_optional).
    ///
    /// # Panics
    /// If the default does not fit its own declaration: that is our mistake, and a test looks for it.
    #[must_use]
    pub fn default_value(&self) -> Option<Value> {
        let text = self.default.filter(|_| !self.is_optional())?;
        let wrong =
            || -> ! { panic!("the default {text:?} of `{}` does not fit its declaration", self.name) };
        let whole = |t: &str| t.trim().parse::<u64>().unwrap_or_else(|_| wrong());
        Some(match self.kind {
            Kind::Int { .. } => Value::Int(whole(text)),
            Kind::Ints { .. } => {
                let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
                Value::Ints(inner.split(',').filter(|t| !t.trim().is_empty()).map(whole).collect())
            }
            Kind::Real { .. } => Value::Real(text.parse().unwrap_or_else(|_| wrong())),
            Kind::Time | Kind::Bytes | Kind::Bandwidth => {
                self.kind.quantity(text).unwrap_or_else(|_| wrong())
            }
            Kind::Bool => Value::Bool(text.parse().unwrap_or_else(|_| wrong())),
            Kind::Text | Kind::File => Value::Text(text.to_owned()),
            Kind::Texts if text == "[]" => Value::Texts(Vec::new()),
            Kind::Texts => wrong(),
            Kind::Choice(words) if words.contains(&text) => Value::Text(text.to_owned()),
            Kind::Choice(_) => wrong(),
        })
    }
}

/// A checked value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// See [`Kind::Int`]; also bytes.
    Int(u64),
    /// A list of whole numbers within the bounds of [`Kind::Ints`].
    Ints(Vec<u64>),
    /// A real number within the bounds of [`Kind::Real`].
    Real(f64),
    /// A span of virtual time in picoseconds; see [`Kind::Time`].
    Time(Ps),
    /// An exact rate, never zero; see [`Kind::Bandwidth`].
    Bandwidth(Bandwidth),
    /// True or false, without quotes; see [`Kind::Bool`].
    Bool(bool),
    /// See [`Kind::Text`], [`Kind::File`] and [`Kind::Choice`].
    Text(String),
    /// Texts in the order of the list; see [`Kind::Texts`].
    Texts(Vec<String>),
}

/// Checked values by key. The accessors panic when a key or type was not declared: that is our bug, never a user's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(pub BTreeMap<String, Value>);

/// Why a strategy refuses its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The key that a user should look at.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// How to mend it.
    pub help: Option<String>,
    /// Set if the mistake is not in the experiment but in an input file that the key names.
    pub input: Option<Box<Excerpt>>,
    /// How many mistakes it stands for: more than one where others are counted only.
    pub count: usize,
}

/// A key that has no effect in a combination, and why. It is not refused: an experiment changes its model, routing or router by one word. But a
/// user who wrote it is to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The section: `model`, `routing`, `job`.
    pub section: &'static str,
    /// The key in it.
    pub key: &'static str,
    /// The reason, as the rest of a sentence: `only programs read it`.
    pub why: String,
}

impl Unread {
    /// These keys of a section, all for one reason.
    pub fn all(section: &'static str, keys: &[&'static str], why: impl Into<String>) -> Vec<Self> {
        let why = why.into();
        keys.iter().map(|&key| Self { section, key, why: why.clone() }).collect()
    }
}

/// What was built of checked parameters, or all that is wrong with them.
pub type Built<T> = Result<T, Vec<Problem>>;

/// A stretch of an input file, for people to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// Path of the file.
    pub file: String,
    /// Number of the line, from 1; 0 if the file as a whole is meant (missing, unreadable, binary).
    pub line: u64,
    /// The line's text, without its end.
    pub text: String,
    /// First byte of the mistake within `text`.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
}

impl Problem {
    /// A problem with a key.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into(), help: None, input: None, count: 1 }
    }

    /// Says that the mistake is in an input file.
    #[must_use]
    pub fn at(mut self, excerpt: Excerpt) -> Self {
        self.input = Some(Box::new(excerpt));
        self
    }

    /// Says how many mistakes it stands for.
    #[must_use]
    pub fn count(mut self, count: usize) -> Self {
        self.count = count;
        self
    }

    /// Adds a way to mend it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

macro_rules! accessor {
    ($name:ident, $variant:ident, $type:ty, $doc:literal) => {
        #[doc = $doc]
        #[must_use]
        pub fn $name(&self, key: &str) -> $type {
            match self.0.get(key) {
                Some(Value::$variant(v)) => v.clone().into(),
                other => panic!("parameter `{key}` is {other:?}, not {}", stringify!($variant)),
            }
        }
    };
}

impl Values {
    accessor!(int, Int, u64, "An integer or a number of bytes.");
    accessor!(ints, Ints, Vec<u64>, "A list of integers.");
    accessor!(real, Real, f64, "A real number.");
    accessor!(time, Time, Ps, "A time in picoseconds.");
    accessor!(bandwidth, Bandwidth, Bandwidth, "A bandwidth.");
    accessor!(bool, Bool, bool, "True or false.");
    accessor!(text, Text, String, "A text or a choice.");
    accessor!(texts, Texts, Vec<String>, "A list of texts.");

    /// The values of all `params`: what `given` knows of a key, else its default. Optional keys stay out if they are not given.
    ///
    /// ```
    /// use base::param::{Kind, Param, Value, Values};
    ///
    /// const DELAY: Param = Param { name: "delay", kind: Kind::Time, default: Some("30 ns"), doc: "" };
    /// assert_eq!(Values::complete([&DELAY], |_| None).time("delay"), 30_000);
    /// assert_eq!(Values::complete([&DELAY], |_| Some(Value::Time(5))).time("delay"), 5);
    /// ```
    ///
    /// # Panics
    /// If a mandatory key is not given, or a default does not fit its declaration.
    #[must_use]
    pub fn complete<'a>(
        params: impl IntoIterator<Item = &'a Param>,
        given: impl Fn(&str) -> Option<Value>,
    ) -> Self {
        let value = |param: &Param| {
            let value = given(param.name).or_else(|| param.default_value());
            assert!(value.is_some() || param.is_optional(), "`{}` is mandatory and not given", param.name);
            Some((param.name.to_owned(), value?))
        };
        Self(params.into_iter().filter_map(value).collect())
    }

    /// An integer as `u32`; the declared range must fit.
    #[must_use]
    pub fn u32(&self, key: &str) -> u32 {
        u32::try_from(self.int(key)).expect("the declared range fits 32 bits")
    }

    /// Sets a value: for tests and programs that build parameters themselves.
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.0.insert(key.to_owned(), value);
        self
    }
}

/// Reads `class=number`, each class once, no number above `most`.
///
/// # Errors
/// A text that is none, a class that the network does not have, a number out of range.
pub fn class_values(
    key: &str,
    texts: &[String],
    classes: &[&str],
    most: f64,
) -> Result<Vec<(usize, f64)>, Problem> {
    let mut all: Vec<(usize, f64)> = Vec::new();
    for text in texts {
        let (class, number) = text.split_once('=').map_or((text.trim(), ""), |(a, b)| (a.trim(), b.trim()));
        let Some(index) = classes.iter().position(|c| *c == class) else {
            let help = format!("the classes are {}", classes.join(", "));
            return Err(Problem::new(key, format!("no link class is called `{class}`")).help(help));
        };
        let value = number.parse::<f64>().ok().filter(|p| (0.0..=most).contains(p));
        let Some(value) = value else {
            let message = format!("`{number}` is no number from 0 to {most}");
            return Err(Problem::new(key, message).help(format!("write `{class}=0.01`")));
        };
        if all.iter().any(|(i, _)| *i == index) {
            return Err(Problem::new(key, format!("class `{class}` stands here twice")));
        }
        all.push((index, value));
    }
    Ok(all)
}
