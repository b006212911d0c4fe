//! Any text as a platform, JSON or XML: a platform whose routes exist, or mistakes with their lines; never a panic.

#![no_main]

use base::index::TerminalId;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // A few attributes can ask for a million hosts: that is allowed, and slow.
    if text.len() > 1 << 16 || text.contains("radical") && text.bytes().filter(u8::is_ascii_digit).count() > 64 {
        return;
    }
    match fabric::topology::platform::parse(text, data.len() % 2 == 0) {
        Ok(platform) => {
            let hosts = (platform.hosts.len() as u32).min(16);
            let hosts = TerminalId::first(hosts);
            for (from, to) in hosts.clone().flat_map(|a| hosts.clone().map(move |b| (a, b))) {
                for link in platform.route(from, to).unwrap_or_default() {
                    assert!((link as usize) < platform.links.len());
                }
            }
        }
        Err(mistakes) => assert!(!mistakes.is_empty() && mistakes.len() <= 200),
    }
});
