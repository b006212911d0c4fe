//! Networks written in one of many forms, and where such files go.

use crate::{
    args::Form,
    console::Console,
    exit::{Exit, Outcome},
};
use fabric::{
    export::{self, cluster as write},
    graph::Fabric,
    subnet::Subnet,
};
use netloom::{
    Error, ErrorKind,
    memory::{Sheet, unwritten},
    part_file,
};
use std::path::Path;

/// A subnet in any form; DOT is ORCS's.
///
/// # Errors
/// If the form needs what the subnet lacks.
pub fn written(subnet: &Subnet, form: Form) -> Result<Vec<u8>, Error> {
    let mut out = Sheet::default();
    let lacking = |what: &str| {
        Error::new(ErrorKind::Usage, format!("this form holds {what}, and the network has none"))
            .with_help("compute them with --engine")
    };
    let identified = || subnet.identified().map_err(|e| Error::new(ErrorKind::Experiment, e));
    match form {
        Form::Dot | Form::Orcs => write::dot(subnet, &mut out),
        Form::Net | Form::Ibnetdiscover => {
            write::two_way(subnet).map_err(|e| Error::new(ErrorKind::Experiment, e))?;
            match form {
                Form::Net => write::net(subnet, &mut out),
                _ => write::ibnetdiscover(&identified()?, &mut out),
            }
        }
        Form::Lfts => {
            let tables = subnet.tables.as_ref().ok_or_else(|| lacking("forwarding tables"))?;
            write::lfts(&identified()?, tables, &mut out)
        }
        Form::Sl2vl | Form::PathSl if subnet.lanes.is_none() => return Err(lacking("service levels")),
        Form::Sl2vl => write::sl2vl(&identified()?, &mut out),
        Form::PathSl => write::path_sl(&identified()?, &mut out),
        Form::Table | Form::SourceRoutes => {
            let message = "this form holds the paths of an experiment's routing";
            let help = "write it by `netloom fabric route FILE.toml`, without --engine: routing \"forwarding\" knows the engines";
            return Err(Error::new(ErrorKind::Usage, message).with_help(help));
        }
        Form::Json | Form::EdgeList => {
            let fabric = subnet.fabric().map_err(Error::input)?;
            return drawn(&fabric, form);
        }
    }
    .map_err(|e| unwritten(&e))?;
    Ok(out.0)
}

/// A fabric in one of the forms for people and for topology `graph`.
///
/// # Errors
/// If writing fails.
pub fn drawn(fabric: &Fabric, form: Form) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let written = match form {
        Form::Json => export::json(fabric, &mut bytes),
        Form::EdgeList => export::edge_list(fabric, &mut bytes),
        _ => export::dot(fabric, &mut bytes),
    };
    written.map_err(|e| Error::new(ErrorKind::Internal, format!("cannot write the fabric: {e}")))?;
    Ok(bytes)
}

/// Writes to a file, or to standard output.
///
/// # Errors
/// If the file cannot be written, or exists and is not to be replaced.
pub fn put(out: Option<&Path>, bytes: &[u8], force: bool, console: &mut Console<'_>) -> Outcome {
    match out {
        Some(path) => part_file::write(path, bytes, force)?,
        None => console.print(&String::from_utf8_lossy(bytes))?,
    }
    Ok(Exit::Done)
}
