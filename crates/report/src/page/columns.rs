//! Columns of tables by name, whatever wrote them.

use results::table::{Column, Table};

/// The table of a name, if it has rows.
pub fn find<'a>(tables: &'a [Table], name: &str) -> Option<&'a Table> {
    tables.iter().find(|table| table.name() == name && table.rows() > 0)
}

/// A column of numbers of any kind, as floats.
pub fn floats(table: &Table, name: &str) -> Option<Vec<f64>> {
    Some(match table.column(name)? {
        Column::U64(values) => values.iter().map(|&v| v as f64).collect(),
        Column::I64(values) => values.iter().map(|&v| v as f64).collect(),
        Column::U32(values) => values.iter().map(|&v| f64::from(v)).collect(),
        Column::F64(values) => values.clone(),
        Column::Maybe(_) | Column::Text(_) => return None,
    })
}

/// The column `link`, where a row may be about all links together.
pub fn links(table: &Table) -> Option<Vec<Option<u32>>> {
    match table.column("link") {
        Some(Column::Maybe(links)) => Some(links.clone()),
        // Earlier versions wrote the largest number for all links together.
        Some(Column::U32(links)) => {
            Some(links.iter().map(|&link| (link != u32::MAX).then_some(link)).collect())
        }
        _ => None,
    }
}
