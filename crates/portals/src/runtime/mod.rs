//! Real C programs on the interfaces of [`crate::machine`].
//!
//! [`loader`] gives each rank a copy of the program whose calls lead to [`ptl`], [`pmi`] and [`system`]; [`world`] runs ranks as coroutines; [`preempt`] interrupts those that poll memory; [`guard`] copies to
//! and from their memory and catches their crashes.

/// Functions that programs call, and a table of their names and addresses.
macro_rules! calls {
    ($(fn $name:ident($($a:ident: $t:ty),*) -> $r:ty $body:block)*) => {
        $(
            #[allow(non_snake_case, clippy::too_many_arguments, reason = "the interface's")]
            extern "C" fn $name($($a: $t),*) -> $r $body
        )*

        /// Names and addresses of these functions.
        #[must_use]
        pub fn names() -> Vec<(&'static str, usize)> {
            vec![$((stringify!($name), $name as *const () as usize)),*]
        }
    };
}
use calls;

pub mod guard;
pub mod loader;
pub mod pmi;
pub mod preempt;
pub mod private;
pub mod ptl;
pub mod report;
pub mod stdio;
pub mod system;
pub mod vain;
pub mod world;

pub use report::Report;
pub use world::{Program, Status, run};

/// All that programs can call here instead of elsewhere.
#[must_use]
pub fn names() -> loader::Names {
    ptl::names().into_iter().chain(pmi::names()).chain(system::names()).collect()
}
