//! No archive makes the OTF2 reader panic or read for ever: the input is cut into an anchor, global and local definitions, and events.
#![no_main]
use libfuzzer_sys::fuzz_target;
use std::fs;

fuzz_target!(|data: &[u8]| {
    let directory = std::env::temp_dir().join(format!("netloom-fuzz-otf2-{}", std::process::id()));
    let events = directory.join("traces");
    fs::create_dir_all(&events).expect("the temporary directory can be written");
    let mut parts = data.split(|&b| b == 0xfe);
    for name in ["traces.otf2", "traces.def", "traces/0.def", "traces/0.evt"] {
        let part = parts.next().unwrap_or(&[]);
        fs::write(directory.join(name), part).expect("the temporary directory can be written");
    }
    if let Ok(archive) = otf2::Archive::open(&directory.join("traces.otf2")) {
        for &location in archive.definitions.locations.keys().take(4) {
            if let Ok(events) = archive.events(location) {
                events.for_each(drop);
            }
        }
        let _ = otf2::shares(&archive);
    }
});
