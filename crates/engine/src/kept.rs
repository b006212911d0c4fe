//! State as bytes, piece by piece: what can be saved, and loaded into its like.

use serde::{Serialize, de::DeserializeOwned};

/// The bytes are not what was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// Can be saved, and loaded into its like.
pub trait Kept {
    /// Appends the state.
    fn save(&self, to: &mut Vec<u8>);

    /// Replaces the state by what was saved, which is taken from the front.
    ///
    /// # Errors
    /// If the bytes are not what was saved; then the state is worthless.
    fn load(&mut self, from: &mut &[u8]) -> Result<(), Damaged>;
}

/// The state of what has none: no bytes.
impl Kept for () {
    fn save(&self, _: &mut Vec<u8>) {}
    fn load(&mut self, _: &mut &[u8]) -> Result<(), Damaged> {
        Ok(())
    }
}

/// Appends a value.
///
/// # Panics
/// If the value's serialisation fails, which plain data cannot.
pub fn put<T: Serialize + ?Sized>(value: &T, to: &mut Vec<u8>) {
    // Plain data cannot fail, and memory only by ending the process.
    postcard::to_io(value, to).expect("plain data can be written to memory");
}

/// Takes a value from the front.
///
/// # Errors
/// If there is no such value.
pub fn take<T: DeserializeOwned>(from: &mut &[u8]) -> Result<T, Damaged> {
    // Files may be damaged, so this may fail; why is of no use to anybody.
    let (value, rest) = postcard::take_from_bytes(from).map_err(|_| Damaged)?;
    *from = rest;
    Ok(value)
}

/// Implements [`Kept`] by fields. All fields must be named, those that are made anew after `=>`: a field that is added later and
/// forgotten here does not compile.
#[macro_export]
macro_rules! kept {
    ($type:ty: $($field:ident),* $(=> $($anew:ident),*)?) => {
        impl $crate::kept::Kept for $type {
            fn save(&self, to: &mut Vec<u8>) {
                let Self { $($field,)* $($($anew: _,)*)? } = self;
                $($crate::kept::put($field, to);)*
            }
            fn load(&mut self, from: &mut &[u8]) -> Result<(), $crate::kept::Damaged> {
                $(self.$field = $crate::kept::take(from)?;)*
                Ok(())
            }
        }
    };
}
