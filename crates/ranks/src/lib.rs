//! What ranks do, whatever network is below.
//!
//! The contract between networks and those who live on them: [`carrier`], [`hosted`]. The host of rank programs: [`programs`], with who lives where
//! ([`roster`]), the operations that are not yet finished ([`operations`]), the matching of messages with receives ([`matching`]), processors ([`cpu`]) and
//! what travels beside a message ([`envelope`]), nodes with their cores and memories ([`node`], [`memories`]); state lies in engine tables. What was done, added up ([`tally`]) and by
//! collective call ([`instances`]); which calls operations belong to, what is marked between them and sent in each step ([`calls`]); what a job had to wait for
//! ([`critical`]); why ranks cannot go on ([`stuck`]), and which messages their receives had no room for ([`truncated`]).
//! Models without packets check their messages with [`messages`].

pub mod calls;
pub mod carrier;
pub mod cpu;
pub mod critical;
pub mod envelope;
pub mod finished;
pub mod hosted;

mod incoming;
pub mod instances;
pub mod kit;
pub mod matching;
pub mod memories;
pub mod memory;
pub mod messages;
pub mod node;
pub mod operations;
mod order;
pub mod params;
pub mod programs;
pub mod roster;
pub mod sizes;
mod steps;
pub mod stuck;
pub mod tally;
pub mod truncated;
pub mod unread;
