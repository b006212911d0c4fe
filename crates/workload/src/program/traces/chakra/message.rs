//! The form of Protocol Buffers: each message behind its length, first what holds for all nodes, then the nodes.
//!
//! A message is fields, each a number and a type of three bits before its value: 0 a number of seven bits a byte, 1 eight bytes, 2 a length and so many
//! bytes, 5 four bytes. Lists of numbers are packed into one field, or not.

use super::node::{COLLECTIVE, Comm, METADATA, Node, RECV, SEND, collective_of, control, groups_of};
use crate::program::{Damage, place::Place, traces::files};
use std::io::{BufRead, Read};

/// Most bytes of a message; a node with all of its tensors has some thousand.
const MAX_MESSAGE: u64 = 1 << 28;

/// The value of a field.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Eight or four bytes.
    Fixed,
}

/// A number of seven bits a byte, low ones first, and what follows.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for (place, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Some((value, &bytes[place + 1..]));
        }
    }
    None
}

/// The fields of a message. Ends with an error where it is damaged.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), ()>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or(()))
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let (key, rest) = number(self.0)?;
        let cut = |rest: &'a [u8], len: u64| rest.split_at_checked(usize::try_from(len).ok()?);
        let (value, rest) = match key & 7 {
            0 => number(rest).map(|(n, rest)| (Value::Number(n), rest))?,
            1 => cut(rest, 8).map(|(_, rest)| (Value::Fixed, rest))?,
            2 => {
                let (len, rest) = number(rest)?;
                cut(rest, len).map(|(bytes, rest)| (Value::Bytes(bytes), rest))?
            }
            5 => cut(rest, 4).map(|(_, rest)| (Value::Fixed, rest))?,
            _ => return None,
        };
        self.0 = rest;
        (key >> 3 > 0).then_some((key >> 3, value))
    }
}

/// True if this begins like such a file: with a message of a version or attributes, or an empty one and a node.
pub(super) fn begins(head: &[u8]) -> bool {
    let Some((len, rest)) = number(head) else { return false };
    match rest {
        // The version is a text such as 0.0.4, attributes begin with their name.
        [0x0a, n, text @ ..] if len > u64::from(*n) => {
            let version = text.get(..usize::from(*n)).unwrap_or(&[]);
            !version.is_empty() && version.iter().all(|b| b.is_ascii_digit() || *b == b'.')
        }
        [0x12, n, 0x0a, name, text @ ..] if len > u64::from(*n) && n > name => {
            let name = text.get(..usize::from(*name)).unwrap_or(&[]);
            !name.is_empty() && name.iter().all(|b| b.is_ascii_lowercase() || *b == b'_')
        }
        _ => {
            len == 0
                && number(rest).is_some_and(|(len, node)| len > 2 && matches!(node, [0x08, ..] | [0x12, ..]))
        }
    }
}

/// Reads the file of a rank.
pub(super) fn read(file: &Place) -> Result<Vec<Node>, Damage> {
    let unreadable = |e: std::io::Error| Damage(format!("{file}: cannot be read: {e}"));
    let mut reader = files::open(file).map_err(unreadable)?;
    let (mut nodes, mut at, mut message) = (Vec::new(), 0u64, Vec::new());
    let wrong = |at: u64, what: &str| Damage(format!("{file}: byte {at}: {what}"));
    let mut first = true;
    while !reader.fill_buf().map_err(unreadable)?.is_empty() {
        let (mut len, mut bytes) = (0u64, 0);
        loop {
            let mut byte = [0];
            reader.read_exact(&mut byte).map_err(|_| wrong(at, "the file ends within a length"))?;
            len |= u64::from(byte[0] & 0x7f) << (7 * bytes);
            bytes += 1;
            if byte[0] < 0x80 {
                break;
            }
            if bytes == 5 {
                return Err(wrong(at, "this is no length of a message"));
            }
        }
        if len > MAX_MESSAGE {
            return Err(wrong(at, &format!("a message cannot have {len} bytes")));
        }
        message.clear();
        // What is not there is not held either: the message grows as it is read.
        reader.by_ref().take(len).read_to_end(&mut message).map_err(unreadable)?;
        if message.len() as u64 != len {
            return Err(wrong(at, "the file ends within a message"));
        }
        if !first {
            nodes.push(node(&message).ok_or_else(|| wrong(at, "this message is no node"))?);
        }
        (first, at) = (false, at + bytes as u64 + len);
    }
    Ok(nodes)
}

fn node(message: &[u8]) -> Option<Node> {
    let (mut node, mut comm, mut name, mut inputs) = (Node::default(), Comm::default(), "", "");
    let mut called = Vec::new();
    for field in Fields(message) {
        match field.ok()? {
            (1, Value::Number(id)) => node.id = id,
            (2, Value::Bytes(text)) => name = std::str::from_utf8(text).unwrap_or(""),
            (3, Value::Number(kind)) => node.kind = kind,
            (4, Value::Number(id)) => called.push(id),
            (4, Value::Bytes(packed)) => numbers(packed, &mut called)?,
            (5, Value::Number(id)) => node.after.push(id),
            (5, Value::Bytes(packed)) => numbers(packed, &mut node.after)?,
            (7, Value::Number(micros)) => node.micros = micros,
            (8, Value::Bytes(tensors)) => {
                for field in Fields(tensors) {
                    if let (1, Value::Bytes(text)) = field.ok()? {
                        inputs = std::str::from_utf8(text).unwrap_or("");
                    }
                }
            }
            (10, Value::Bytes(attribute)) => attribute_of(attribute, &mut node, &mut comm)?,
            _ => {}
        }
    }
    node.control = control(&called, &node.after);
    if matches!(node.kind, SEND | RECV | COLLECTIVE) {
        comm.collective = comm.collective.or_else(|| collective_of(name));
        node.comm = Some(Box::new(comm));
    }
    let tells = node.kind == METADATA && name.contains("process_group:init");
    node.groups = if tells { groups_of(inputs) } else { Some(Vec::new()) };
    Some(node)
}

/// Numbers that stand packed behind each other.
fn numbers(mut packed: &[u8], all: &mut Vec<u64>) -> Option<()> {
    while !packed.is_empty() {
        let (id, rest) = number(packed)?;
        all.push(id);
        packed = rest;
    }
    Some(())
}

/// An attribute: its name is field 1, its value one of the others. Numbers of fields 15 and 17 are folded at zero.
fn attribute_of(attribute: &[u8], node: &mut Node, comm: &mut Comm) -> Option<()> {
    let (mut name, mut value, mut text) = (&b""[..], None, "");
    for field in Fields(attribute) {
        match field.ok()? {
            (1, Value::Bytes(bytes)) => name = bytes,
            (15 | 17, Value::Number(n)) => value = Some((n >> 1) ^ (n & 1).wrapping_neg()),
            (_, Value::Number(n)) => value = Some(n),
            (29, Value::Bytes(bytes)) => text = std::str::from_utf8(bytes).unwrap_or(""),
            _ => {}
        }
    }
    let short = || value.and_then(|n| u32::try_from(n).ok());
    match name {
        b"is_cpu_op" => node.host = value.unwrap_or(0) != 0,
        b"num_ops" => node.operations = value.unwrap_or(0),
        b"comm_type" => comm.collective = value,
        b"comm_size" => comm.bytes = value,
        b"comm_src" => comm.source = short(),
        b"comm_dst" => comm.destination = short(),
        b"comm_tag" => comm.tag = short().unwrap_or(0),
        b"root" | b"root_rank" => comm.root = short().unwrap_or(0),
        // The number of a group is a text or a number.
        b"pg_name" | b"comm_group" => {
            let name = if text.is_empty() { value.map(|n| n.to_string()) } else { Some(text.to_owned()) };
            comm.group = name.or(comm.group.take());
        }
        _ => {}
    }
    Some(())
}
