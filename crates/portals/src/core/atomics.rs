//! What an atomic operation does to the bytes at the target.
//!
//! Operation and datatype are the header's numbers. Integers wrap; floating-point numbers are IEEE; `long double` is the x87 format of 80 bits
//! in 16 bytes, of which sums and comparisons are computed in `f64`: its last 11 binary digits are not kept by arithmetic (swaps keep all).

use super::types::{Answer, Code};

/// Operations, in the header's order.
#[allow(missing_docs, reason = "the names are the interface's")]
pub mod op {
    pub const MIN: u8 = 0;
    pub const MAX: u8 = 1;
    pub const SUM: u8 = 2;
    pub const PROD: u8 = 3;
    pub const LOR: u8 = 4;
    pub const LAND: u8 = 5;
    pub const BOR: u8 = 6;
    pub const BAND: u8 = 7;
    pub const LXOR: u8 = 8;
    pub const BXOR: u8 = 9;
    pub const SWAP: u8 = 10;
    pub const CSWAP: u8 = 11;
    pub const CSWAP_NE: u8 = 12;
    pub const CSWAP_LE: u8 = 13;
    pub const CSWAP_LT: u8 = 14;
    pub const CSWAP_GE: u8 = 15;
    pub const CSWAP_GT: u8 = 16;
    pub const MSWAP: u8 = 17;
}

/// Datatypes, in the header's order.
#[allow(missing_docs, reason = "the names are the interface's")]
pub mod ty {
    pub const I8: u8 = 0;
    pub const U8: u8 = 1;
    pub const I16: u8 = 2;
    pub const U16: u8 = 3;
    pub const I32: u8 = 4;
    pub const U32: u8 = 5;
    pub const F32: u8 = 6;
    pub const I64: u8 = 7;
    pub const U64: u8 = 8;
    pub const F64: u8 = 9;
    pub const C32: u8 = 10;
    pub const C64: u8 = 11;
    pub const LONG: u8 = 12;
    pub const LONG_COMPLEX: u8 = 13;
}

/// Bytes of a datatype.
///
/// # Errors
/// [`Code::ArgInvalid`] beyond the last.
pub fn size(datatype: u8) -> Answer<usize> {
    const SIZES: [usize; 14] = [1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 8, 16, 16, 32];
    SIZES.get(usize::from(datatype)).copied().ok_or(Code::ArgInvalid)
}

/// Checks that an operation may be asked of a datatype by `PtlAtomic` or `PtlFetchAtomic` (`swap` false) or by `PtlSwap`.
///
/// # Errors
/// [`Code::ArgInvalid`].
pub fn check(operation: u8, datatype: u8, length: u64, swap: bool) -> Answer {
    let bytes = size(datatype)? as u64;
    let (integer, complex) = (integer(datatype), complex(datatype));
    let good = match operation {
        op::SUM | op::PROD => !swap,
        op::MIN | op::MAX => !swap && !complex,
        op::LOR..=op::BXOR => !swap && integer,
        op::SWAP => swap,
        op::CSWAP | op::CSWAP_NE => swap && length <= bytes,
        op::CSWAP_LE..=op::CSWAP_GT => swap && !complex && length <= bytes,
        op::MSWAP => swap && integer && length <= bytes,
        _ => false,
    };
    if good && length.is_multiple_of(bytes) { Ok(()) } else { Err(Code::ArgInvalid) }
}

/// True for the eight integer types.
#[must_use]
pub fn integer(datatype: u8) -> bool {
    datatype <= ty::U64 && datatype != ty::F32
}

fn complex(datatype: u8) -> bool {
    matches!(datatype, ty::C32 | ty::C64 | ty::LONG_COMPLEX)
}

/// Changes `target` by `source`, element by element; compares with or masks by `operand` (one element) where the operation does. Rests shorter than an
/// element stay.
pub fn apply(operation: u8, datatype: u8, target: &mut [u8], source: &[u8], operand: &[u8]) {
    let Ok(bytes) = size(datatype) else { return };
    debug_assert!(target.len() <= source.len(), "there is an operand for each element");
    for (t, s) in target.chunks_exact_mut(bytes).zip(source.chunks_exact(bytes)) {
        match datatype {
            ty::I8 => one_integer::<i8, 1>(operation, t, s, operand),
            ty::U8 => one_integer::<u8, 1>(operation, t, s, operand),
            ty::I16 => one_integer::<i16, 2>(operation, t, s, operand),
            ty::U16 => one_integer::<u16, 2>(operation, t, s, operand),
            ty::I32 => one_integer::<i32, 4>(operation, t, s, operand),
            ty::U32 => one_integer::<u32, 4>(operation, t, s, operand),
            ty::I64 => one_integer::<i64, 8>(operation, t, s, operand),
            ty::U64 => one_integer::<u64, 8>(operation, t, s, operand),
            _ => one_float(operation, datatype, t, s, operand),
        }
    }
}

trait Integer<const N: usize>: Copy + Ord + Default {
    fn get(bytes: &[u8]) -> Self;
    fn set(self, bytes: &mut [u8]);
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
    fn bits(self, other: Self, f: fn(u64, u64) -> u64) -> Self;
    fn truth(truth: bool) -> Self;
}

macro_rules! integers {
    ($($t:ty, $n:expr);*) => {$(
        impl Integer<$n> for $t {
            fn get(bytes: &[u8]) -> Self {
                let mut b = [0; $n];
                b.iter_mut().zip(bytes).for_each(|(b, &a)| *b = a);
                Self::from_le_bytes(b)
            }
            fn set(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
            fn sum(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn product(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_lossless, reason = "only low bits count")]
            fn bits(self, other: Self, f: fn(u64, u64) -> u64) -> Self {
                f(self as u64, other as u64) as Self
            }
            fn truth(truth: bool) -> Self {
                Self::from(u8::from(truth) as Self)
            }
        }
    )*};
}

#[allow(
    clippy::cast_possible_wrap,
    clippy::cast_lossless,
    clippy::useless_conversion,
    reason = "one macro for all widths"
)]
mod impls {
    use super::Integer;
    integers!(i8, 1; u8, 1; i16, 2; u16, 2; i32, 4; u32, 4; i64, 8; u64, 8);
}

fn one_integer<T: Integer<N>, const N: usize>(
    operation: u8,
    target: &mut [u8],
    source: &[u8],
    operand: &[u8],
) {
    debug_assert_eq!(target.len(), N, "an element is as long as its type");
    let (t, s) = (T::get(target), T::get(source));
    let zero = T::default();
    let new = match operation {
        op::MIN => t.min(s),
        op::MAX => t.max(s),
        op::SUM => t.sum(s),
        op::PROD => t.product(s),
        op::LOR => T::truth(t != zero || s != zero),
        op::LAND => T::truth(t != zero && s != zero),
        op::LXOR => T::truth((t != zero) != (s != zero)),
        op::BOR => t.bits(s, |a, b| a | b),
        op::BAND => t.bits(s, |a, b| a & b),
        op::BXOR => t.bits(s, |a, b| a ^ b),
        op::MSWAP => {
            let mask = T::get(operand);
            t.bits(mask, |t, m| t & !m).bits(s.bits(mask, |s, m| s & m), |a, b| a | b)
        }
        _ if swaps(operation, T::get(operand).cmp(&t)) => s,
        _ => t,
    };
    new.set(target);
}

/// True if a swap takes place: the operand is compared with what is at the target.
fn swaps(operation: u8, operand: std::cmp::Ordering) -> bool {
    match operation {
        op::SWAP => true,
        op::CSWAP => operand.is_eq(),
        op::CSWAP_NE => operand.is_ne(),
        op::CSWAP_LE => operand.is_le(),
        op::CSWAP_LT => operand.is_lt(),
        op::CSWAP_GE => operand.is_ge(),
        op::CSWAP_GT => operand.is_gt(),
        _ => false,
    }
}

/// One or two real numbers of an element.
fn reals(datatype: u8, bytes: &[u8]) -> (f64, f64) {
    let single = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    let double = |b: &[u8]| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
    match datatype {
        ty::F32 => (f64::from(single(bytes)), 0.0),
        ty::F64 => (double(bytes), 0.0),
        ty::C32 => (f64::from(single(bytes)), f64::from(single(&bytes[4..]))),
        ty::C64 => (double(bytes), double(&bytes[8..])),
        ty::LONG => (from_x87(bytes), 0.0),
        _ => (from_x87(bytes), from_x87(&bytes[16..])),
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the type is what the program asked for")]
fn set_reals(datatype: u8, bytes: &mut [u8], real: f64, imaginary: f64) {
    debug_assert_eq!(size(datatype), Ok(bytes.len()), "a number fills its element");
    match datatype {
        ty::F32 => bytes.copy_from_slice(&(real as f32).to_le_bytes()),
        ty::F64 => bytes.copy_from_slice(&real.to_le_bytes()),
        ty::C32 => {
            bytes[..4].copy_from_slice(&(real as f32).to_le_bytes());
            bytes[4..].copy_from_slice(&(imaginary as f32).to_le_bytes());
        }
        ty::C64 => {
            bytes[..8].copy_from_slice(&real.to_le_bytes());
            bytes[8..].copy_from_slice(&imaginary.to_le_bytes());
        }
        ty::LONG => to_x87(real, bytes),
        _ => {
            to_x87(real, &mut bytes[..16]);
            to_x87(imaginary, &mut bytes[16..]);
        }
    }
}

fn one_float(operation: u8, datatype: u8, target: &mut [u8], source: &[u8], operand: &[u8]) {
    debug_assert_eq!(target.len(), source.len(), "elements of a type are alike");
    debug_assert!(!integer(datatype), "integers are computed as such");
    let (t, s) = (reals(datatype, target), reals(datatype, source));
    let (real, imaginary) = match operation {
        op::MIN => (t.0.min(s.0), 0.0),
        op::MAX => (t.0.max(s.0), 0.0),
        op::SUM if datatype == ty::F32 || datatype == ty::C32 => (t.0 + s.0, t.1 + s.1),
        op::SUM => (t.0 + s.0, t.1 + s.1),
        op::PROD if complex(datatype) => (t.0 * s.0 - t.1 * s.1, t.0 * s.1 + t.1 * s.0),
        op::PROD => (t.0 * s.0, 0.0),
        op::SWAP => return target.copy_from_slice(source),
        _ => {
            if operand.len() < target.len() {
                return;
            }
            let o = reals(datatype, operand);
            let equal = (o.0 - t.0 == 0.0) && (o.1 - t.1 == 0.0);
            let swap = match (operation, o.0.partial_cmp(&t.0)) {
                (op::CSWAP, _) => equal,
                (op::CSWAP_NE, _) => !equal,
                (_, Some(order)) => swaps(operation, order),
                _ => false,
            };
            if swap {
                target.copy_from_slice(source);
            }
            return;
        }
    };
    set_reals(datatype, target, real, imaginary);
}

/// The nearest double of an 80-bit number (sign and exponent in bytes 8 and 9, 64 bits of mantissa below).
fn from_x87(bytes: &[u8]) -> f64 {
    debug_assert!(bytes.len() >= 10, "the number has 80 bits");
    let mut mantissa = [0; 8];
    mantissa.copy_from_slice(&bytes[..8]);
    let mantissa = u64::from_le_bytes(mantissa);
    let top = u16::from_le_bytes([bytes[8], bytes[9]]);
    let sign = if top >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(top & 0x7fff);
    match (exponent, mantissa) {
        (_, 0) => 0.0 * sign,
        (0x7fff, m) if m << 1 == 0 => f64::INFINITY * sign,
        (0x7fff, _) => f64::NAN,
        // In two steps, so that neither power is out of range before the product is.
        _ => {
            let e = exponent - 16_383 - 63;
            sign * mantissa as f64 * 2f64.powi(e / 2) * 2f64.powi(e - e / 2)
        }
    }
}

fn to_x87(value: f64, bytes: &mut [u8]) {
    debug_assert!(bytes.len() >= 16, "the number lies in 16 bytes");
    let bits = value.to_bits();
    let sign = ((bits >> 63) as u16) << 15;
    let (exponent, fraction) = (((bits >> 52) & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (exponent, mantissa) = match (exponent, fraction) {
        (0, 0) => (0, 0),
        (0, f) => {
            let shift = f.leading_zeros();
            (16_383 - 1022 - 52 + 63 - shift as i32, f << shift)
        }
        (0x7ff, f) => (0x7fff, 1 << 63 | f << 11),
        (e, f) => (e - 1023 + 16_383, 1 << 63 | f << 11),
    };
    bytes[..8].copy_from_slice(&u64::to_le_bytes(mantissa));
    bytes[8..10].copy_from_slice(&(sign | exponent as u16).to_le_bytes());
    bytes[10..16].fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_u32(operation: u8, target: u32, source: u32, operand: u32) -> u32 {
        let mut t = target.to_le_bytes();
        apply(operation, ty::U32, &mut t, &source.to_le_bytes(), &operand.to_le_bytes());
        u32::from_le_bytes(t)
    }

    #[test]
    fn integers_by_definition() {
        let cases = [
            (op::MIN, 3),
            (op::MAX, 12),
            (op::SUM, 15),
            (op::PROD, 36),
            (op::LOR, 1),
            (op::LAND, 1),
            (op::BOR, 15),
            (op::BAND, 0),
            (op::LXOR, 0),
            (op::BXOR, 15),
            (op::SWAP, 3),
        ];
        for (operation, expected) in cases {
            assert_eq!(on_u32(operation, 12, 3, 0), expected, "operation {operation}");
        }
        assert_eq!(on_u32(op::SUM, u32::MAX, 2, 0), 1, "sums wrap");
        assert_eq!(on_u32(op::MSWAP, 0b1100, 0b1010, 0b0110), 0b1010);
        let mut t = (-5i8).to_le_bytes();
        apply(op::MAX, ty::I8, &mut t, &3i8.to_le_bytes(), &[]);
        assert_eq!(t[0], 3, "signed types compare with their sign");
    }

    #[test]
    fn conditional_swaps_compare_the_operand_with_the_target() {
        for (operation, less, equal, greater) in [
            (op::CSWAP, false, true, false),
            (op::CSWAP_NE, true, false, true),
            (op::CSWAP_LE, true, true, false),
            (op::CSWAP_LT, true, false, false),
            (op::CSWAP_GE, false, true, true),
            (op::CSWAP_GT, false, false, true),
        ] {
            for (operand, swaps) in [(6, less), (7, equal), (8, greater)] {
                assert_eq!(
                    on_u32(operation, 7, 99, operand) == 99,
                    swaps,
                    "operation {operation}, operand {operand}"
                );
            }
        }
    }

    #[test]
    fn complex_products_and_long_doubles() {
        let pack = |a: f64, b: f64| [a.to_le_bytes(), b.to_le_bytes()].concat();
        let mut t = pack(1.0, 2.0);
        apply(op::PROD, ty::C64, &mut t, &pack(3.0, 4.0), &[]);
        assert_eq!(t, pack(-5.0, 10.0));
        for value in [0.0, -1.5, 1e300, 5e-324, f64::INFINITY, 0.1] {
            let mut bytes = [0; 16];
            to_x87(value, &mut bytes);
            assert_eq!(from_x87(&bytes).to_bits(), value.to_bits());
        }
        let mut one = [0xff; 16];
        to_x87(1.0, &mut one);
        // 1.0L on x86: mantissa with its leading bit, exponent 0x3fff, and six bytes of nothing: whoever compares memory sees the same each time.
        assert_eq!(one, [0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f, 0, 0, 0, 0, 0, 0]);
        let mut sum = one;
        apply(op::SUM, ty::LONG, &mut sum, &one, &[]);
        assert!((from_x87(&sum) - 2.0).abs() < 1e-300);
    }

    #[test]
    fn what_may_not_be_asked_is_refused() {
        assert_eq!(check(op::BOR, ty::F64, 8, false), Err(Code::ArgInvalid));
        assert_eq!(check(op::MIN, ty::C32, 8, false), Err(Code::ArgInvalid));
        assert_eq!(check(op::SWAP, ty::I32, 4, false), Err(Code::ArgInvalid), "swaps go through PtlSwap");
        assert_eq!(check(op::SUM, ty::I32, 4, true), Err(Code::ArgInvalid));
        assert_eq!(check(op::CSWAP, ty::I32, 8, true), Err(Code::ArgInvalid), "one element");
        assert_eq!(check(op::SUM, ty::I32, 6, false), Err(Code::ArgInvalid), "whole elements");
        assert_eq!(check(op::SWAP, ty::I32, 64, true), Ok(()));
        assert_eq!(check(op::SUM, 14, 4, false), Err(Code::ArgInvalid));
    }
}
