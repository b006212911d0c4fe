//! Integers that depend on the rank: `(rank + 1) % size`.

use base::index::RankId;
use std::cell::Cell;

/// An expression. Variables are loops, counted from the outermost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    Number(i64),
    Rank,
    Size,
    Loop(usize),
    Binary(Box<Expression>, Operator, Box<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    /// Rounds down, also below zero; there is no value unless the divisor is positive.
    Divide,
    /// Never negative for positive divisors.
    Remainder,
    ShiftLeft,
    ShiftRight,
    /// Bitwise exclusive or.
    Xor,
}

impl Operator {
    /// How tightly it binds.
    pub(super) fn level(self) -> u8 {
        match self {
            Self::Xor => 0,
            Self::ShiftLeft | Self::ShiftRight => 1,
            Self::Add | Self::Subtract => 2,
            Self::Multiply | Self::Divide | Self::Remainder => 3,
        }
    }

    fn apply(self, a: i64, b: i64) -> Option<i64> {
        let shift = |b: i64| u32::try_from(b).ok().filter(|&b| b < 63);
        match self {
            Self::Add => a.checked_add(b),
            Self::Subtract => a.checked_sub(b),
            Self::Multiply => a.checked_mul(b),
            Self::Divide if b > 0 => Some(a.div_euclid(b)),
            Self::Remainder if b > 0 => Some(a.rem_euclid(b)),
            Self::Divide | Self::Remainder => None,
            Self::ShiftLeft => a.checked_mul(1 << shift(b)?),
            Self::ShiftRight => Some(a >> shift(b)?),
            Self::Xor => Some(a ^ b),
        }
    }
}

/// What an expression depends on.
pub(super) struct Scope<'a> {
    pub(super) rank: RankId,
    pub(super) size: u32,
    /// Values of the loops' variables, outermost first.
    pub(super) loops: &'a [i64],
    /// Bits of the variables that were asked for, by the depth of the loop; the last for all deeper ones.
    pub(super) asked: &'a Cell<u64>,
}

/// The bit of a loop's variable in [`Scope::asked`].
pub(super) fn bit(depth: usize) -> u64 {
    1 << depth.min(63)
}

impl Expression {
    /// Its value for the rank, size and loops of `scope`.
    ///
    /// # Errors
    /// If it leaves 64 bits or divides by what is not positive.
    pub(super) fn value(&self, scope: &Scope<'_>) -> Result<i64, String> {
        match self {
            Self::Number(n) => Ok(*n),
            Self::Rank => Ok(scope.rank.number().into()),
            Self::Size => Ok(scope.size.into()),
            Self::Loop(depth) => {
                scope.asked.set(scope.asked.get() | bit(*depth));
                Ok(scope.loops[*depth])
            }
            Self::Binary(a, operator, b) => {
                let (a, b) = (a.value(scope)?, b.value(scope)?);
                operator.apply(a, b).ok_or_else(|| match operator {
                    Operator::Divide | Operator::Remainder => format!("{a} divided by {b} has no meaning"),
                    _ => format!("the number calculated from {a} and {b} does not fit"),
                })
            }
        }
    }
}
