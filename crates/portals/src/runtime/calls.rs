//! How functions that programs call are declared.

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
pub(super) use calls;
