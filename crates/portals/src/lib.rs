//! Portals 4: the semantics of the interface ([`core`]), the time it takes ([`nic`]), and a runtime in which real C programs use it ([`runtime`]).

pub mod core;
pub mod machine;
pub mod nic;
pub mod record;
pub mod replay;
#[cfg(all(feature = "runtime", target_os = "linux", target_arch = "x86_64"))]
pub mod runtime;

/// The headers that programs are compiled with: name and text.
///
/// The one in `bull` is Bull's dialect; it translates to the other.
pub const HEADERS: &[(&str, &str)] = &[
    ("portals4.h", include_str!("../include/portals4.h")),
    ("portals4_types.h", include_str!("../include/portals4_types.h")),
    ("pmi.h", include_str!("../include/pmi.h")),
    ("bull/portals4.h", include_str!("../include/bull/portals4.h")),
];
