//! What ranks do, whatever network is below: the operations that are not yet finished ([`window`]) and the matching of messages with
//! receives ([`matching`]), whose state lies in engine tables; processors ([`cpu`]); what travels beside a message ([`envelope`]); what was done, added up ([`tally`]) and by
//! collective call ([`instances`]); and why ranks cannot go on ([`stuck`]).

pub mod cpu;
pub mod envelope;
pub mod instances;
pub mod matching;
pub mod memory;
pub mod params;
pub mod stuck;
pub mod tally;
pub mod window;
