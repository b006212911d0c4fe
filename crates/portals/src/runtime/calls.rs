//! How functions that programs call are declared.
//!
//! A function of ours serves the rank that runs. Called from elsewhere (a thread of a library's own, a library's initialiser while it is loaded) it
//! does what stands in brackets, such as what the C library does, or gives the module's value for it. Many calls in a row that take no time let some pass. It computes with the rounding of this simulator,
//! whatever the rank has set.

/// Functions that programs call, and a table of their names and addresses.
macro_rules! calls {
    (@outside $default:expr;) => { $default };
    (@outside $default:expr; $own:expr) => { $own };
    (outside = $outside:expr; $(fn $name:ident($($a:ident: $t:ty),*) -> $r:ty $([$own:expr])? $body:block)*) => {
        $(
            #[allow(non_snake_case, clippy::too_many_arguments, reason = "the interface's")]
            #[allow(unused_variables, reason = "some callers from elsewhere give what is not looked at")]
            #[allow(clippy::default_trait_access, reason = "a value of whatever type")]
            #[allow(clippy::diverging_sub_expression, clippy::exit, reason = "some end the process")]
            pub(super) extern "C" fn $name($($a: $t),*) -> $r {
                if !$crate::runtime::guard::in_rank() {
                    #[allow(unreachable_code, reason = "some end the process")]
                    return $crate::runtime::calls::calls!(@outside $outside; $($own)?);
                }
                let _plain = $crate::runtime::float::plain();
                $crate::runtime::spans::count();
                $body
            }
        )*

        /// Names and addresses of these functions.
        #[must_use]
        pub fn names() -> Vec<(&'static str, usize)> {
            vec![$((stringify!($name), $name as *const () as usize)),*]
        }
    };
}
pub(super) use calls;
