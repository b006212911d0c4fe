//! Statements of the paper, each judged by what our runs show.

use serde_json::{Value as Json, json};
use std::fmt::Write as _;

/// What our runs say of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It holds in them.
    Holds,
    /// It does not hold in them.
    Fails,
    /// This form of the study does not run what would judge it.
    Open,
}

impl Judgement {
    /// Holds or not.
    #[must_use]
    pub fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "does not hold",
            Self::Open => "not judged",
        }
    }
}

/// A statement of the paper.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Figure or section that it belongs to.
    pub place: &'static str,
    /// What the paper says.
    pub says: &'static str,
    /// What our runs say of it.
    pub judgement: Judgement,
    /// Numbers behind the judgement, and the mechanism if it does not hold.
    pub why: String,
}

/// All statements in three lists: those that hold, those that do not, those that are not judged.
#[must_use]
pub fn text(statements: &[Statement]) -> String {
    let mut out = String::new();
    for (judgement, title) in [
        (Judgement::Holds, "statements of the paper that hold in our runs"),
        (Judgement::Fails, "statements that do not hold in our runs"),
        (Judgement::Open, "statements that this form cannot judge"),
    ] {
        let _ = writeln!(out, "\n{title}");
        let mut none = true;
        for s in statements.iter().filter(|s| s.judgement == judgement) {
            let _ = writeln!(out, "  {}: {}\n      {}", s.place, s.says, s.why);
            none = false;
        }
        if none {
            out.push_str("  none\n");
        }
    }
    out
}

/// The same for programs.
#[must_use]
pub fn object(statements: &[Statement]) -> Json {
    let one = |s: &Statement| json!({"place": s.place, "says": s.says, "judgement": s.judgement.name(), "why": s.why});
    statements.iter().map(one).collect()
}
