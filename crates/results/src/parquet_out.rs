//! Tables as Parquet files: the same table and metadata give the same bytes.
//!
//! Row groups have a fixed size, the writer's name is fixed, and nothing depends on the time or the host.

use crate::table::{Column, Table, TextColumn};
use parquet::{
    basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical},
    column::{
        page::{Page, PageMetadata, PageReader},
        reader::{ColumnReader, get_column_reader},
        writer::ColumnWriter,
    },
    data_type::ByteArray,
    errors::ParquetError,
    file::{
        metadata::KeyValue,
        properties::WriterProperties,
        reader::{FileReader, SerializedFileReader},
        writer::SerializedFileWriter,
    },
    schema::types::Type,
};
use std::{fs::File, io::Write, sync::Arc};

/// Rows of a row group.
const GROUP: usize = 1 << 20;

/// Writes a table with key-value metadata.
///
/// # Errors
/// Whatever the sink refuses.
pub fn write<W: Write + Send>(
    table: &Table,
    metadata: &[(String, String)],
    sink: W,
) -> Result<(), ParquetError> {
    let pairs = metadata.iter().map(|(k, v)| KeyValue::new(k.clone(), v.clone())).collect();
    let properties = WriterProperties::builder()
        .set_created_by("netloom".to_owned())
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(pairs))
        .build();
    let mut file = SerializedFileWriter::new(sink, Arc::new(schema(table)?), Arc::new(properties))?;
    let mut start = 0;
    while start < table.rows() {
        let end = table.rows().min(start + GROUP);
        let mut group = file.next_row_group()?;
        for (_, column) in table.columns() {
            let mut writer = group.next_column()?.expect("as many columns as the schema has");
            write_part(column, start..end, writer.untyped())?;
            writer.close()?;
        }
        group.close()?;
        start = end;
    }
    file.close()?;
    Ok(())
}

fn schema(table: &Table) -> Result<Type, ParquetError> {
    let field = |(name, column): &(String, Column)| {
        let integer = |bit_width, is_signed| Some(LogicalType::integer(bit_width, is_signed));
        let (physical, logical) = match column {
            Column::U64(_) => (Physical::INT64, integer(64, false)),
            Column::I64(_) => (Physical::INT64, integer(64, true)),
            Column::U32(_) | Column::Maybe(_) => (Physical::INT32, integer(32, false)),
            Column::F64(_) => (Physical::DOUBLE, None),
            Column::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = match column {
            Column::Maybe(_) => Repetition::OPTIONAL,
            _ => Repetition::REQUIRED,
        };
        let builder = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        Ok(Arc::new(builder.with_logical_type(logical).build()?))
    };
    let fields = table.columns().iter().map(field).collect::<Result<_, ParquetError>>()?;
    Type::group_type_builder(table.name()).with_fields(fields).build()
}

fn write_part(
    column: &Column,
    rows: std::ops::Range<usize>,
    writer: &mut ColumnWriter<'_>,
) -> Result<(), ParquetError> {
    match (column, writer) {
        // Parquet stores unsigned integers as the signed ones of the same bits.
        (Column::U64(v), ColumnWriter::Int64ColumnWriter(w)) => {
            let bits: Vec<i64> = v[rows].iter().map(|&x| x.cast_signed()).collect();
            w.write_batch(&bits, None, None)?;
        }
        (Column::I64(v), ColumnWriter::Int64ColumnWriter(w)) => {
            w.write_batch(&v[rows], None, None)?;
        }
        (Column::U32(v), ColumnWriter::Int32ColumnWriter(w)) => {
            let bits: Vec<i32> = v[rows].iter().map(|&x| x.cast_signed()).collect();
            w.write_batch(&bits, None, None)?;
        }
        (Column::Maybe(v), ColumnWriter::Int32ColumnWriter(w)) => {
            let bits: Vec<i32> = v[rows.clone()].iter().flatten().map(|&x| x.cast_signed()).collect();
            let present: Vec<i16> = v[rows].iter().map(|x| x.is_some().into()).collect();
            w.write_batch(&bits, Some(&present), None)?;
        }
        (Column::F64(v), ColumnWriter::DoubleColumnWriter(w)) => {
            w.write_batch(&v[rows], None, None)?;
        }
        (Column::Text(v), ColumnWriter::ByteArrayColumnWriter(w)) => {
            let words: Vec<ByteArray> = v.words().iter().map(|t| t.as_str().into()).collect();
            let texts: Vec<ByteArray> = v.codes()[rows].iter().map(|&c| words[c as usize].clone()).collect();
            w.write_batch(&texts, None, None)?;
        }
        _ => unreachable!("the schema was made from these columns"),
    }
    Ok(())
}

/// Reads a table that [`write()`] wrote, and its metadata.
///
/// # Errors
/// The file is not Parquet, or has columns that [`write()`] never writes: of other types, of different lengths, two of a name.
pub fn read(name: &str, file: File) -> Result<(Table, Vec<(String, String)>), ParquetError> {
    let reader = SerializedFileReader::new(file)?;
    let metadata = reader.metadata().file_metadata();
    let pairs = metadata.key_value_metadata().into_iter().flatten();
    let pairs = pairs.map(|p| (p.key.clone(), p.value.clone().unwrap_or_default())).collect();
    let mut table = Table::new(name);
    let schema = metadata.schema_descr();
    for (i, field) in schema.columns().iter().enumerate() {
        let unsigned = matches!(field.logical_type_ref(), Some(LogicalType::Integer(t)) if !t.is_signed);
        let mut column = match (field.physical_type(), unsigned) {
            (Physical::INT64, true) => Column::U64(vec![]),
            (Physical::INT64, false) => Column::I64(vec![]),
            (Physical::INT32, true) if field.max_def_level() > 0 => Column::Maybe(vec![]),
            (Physical::INT32, true) => Column::U32(vec![]),
            (Physical::DOUBLE, _) => Column::F64(vec![]),
            // Levels of optional texts would lie before their lengths.
            (Physical::BYTE_ARRAY, _) if field.max_def_level() == 0 => Column::Text(TextColumn::default()),
            (other, _) => return Err(ParquetError::General(format!("column of type {other}"))),
        };
        for g in 0..reader.num_row_groups() {
            let group = reader.get_row_group(g)?;
            let chunk = group.metadata().column(i);
            let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
            // The library asserts what a damaged file need not hold.
            let whole = start >= 0 && chunk.compressed_size() >= 0;
            let rows = usize::try_from(group.metadata().num_rows()).ok().filter(|_| whole);
            let rows = rows.ok_or_else(|| ParquetError::General("a negative place or size".to_owned()))?;
            let pages = group.get_column_page_reader(i)?;
            let texts = matches!(column, Column::Text(_));
            let pages = Box::new(Known { pages, texts, dictionary: false });
            read_part(&mut column, rows, get_column_reader(schema.column(i), pages))?;
        }
        table = table.try_with(field.name(), column).map_err(ParquetError::General)?;
    }
    Ok((table, pairs))
}

/// Pages of a column as [`write()`] makes them. In others the library's decoders panic, since they trust them.
struct Known {
    pages: Box<dyn PageReader>,
    texts: bool,
    dictionary: bool,
}

impl Known {
    /// What the library asserts of a page, asked beforehand.
    fn is_sound(&mut self, page: &Page) -> bool {
        use Encoding::{PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY};
        match page {
            Page::DictionaryPage { buf, num_values, encoding: PLAIN | PLAIN_DICTIONARY, .. } => {
                self.dictionary = true;
                !self.texts || holds_texts(buf, *num_values)
            }
            Page::DataPage { encoding: RLE_DICTIONARY | PLAIN_DICTIONARY, .. } => self.dictionary,
            Page::DataPage { buf, num_values, encoding: PLAIN, .. } => {
                !self.texts || holds_texts(buf, *num_values)
            }
            _ => false,
        }
    }
}

/// True if so many texts are there, each behind its length in four bytes.
fn holds_texts(mut bytes: &[u8], count: u32) -> bool {
    (0..count).all(|_| {
        let Some((length, rest)) = bytes.split_first_chunk() else { return false };
        let rest = rest.get(u32::from_le_bytes(*length) as usize..);
        bytes = rest.unwrap_or_default();
        rest.is_some()
    })
}

impl Iterator for Known {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Known {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let page = self.pages.get_next_page()?;
        match &page {
            Some(page) if !self.is_sound(page) => Err(ParquetError::General("a damaged page".to_owned())),
            _ => Ok(page),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.pages.skip_next_page()
    }
}

/// Reads rows of one column; memory grows with what is there, not with the number of rows that a file claims.
fn read_part(column: &mut Column, rows: usize, reader: ColumnReader) -> Result<(), ParquetError> {
    match (column, reader) {
        (Column::U64(v), ColumnReader::Int64ColumnReader(mut r)) => {
            let mut bits = Vec::new();
            r.read_records(rows, None, None, &mut bits)?;
            v.extend(bits.into_iter().map(i64::cast_unsigned));
        }
        (Column::I64(v), ColumnReader::Int64ColumnReader(mut r)) => {
            r.read_records(rows, None, None, v)?;
        }
        (Column::U32(v), ColumnReader::Int32ColumnReader(mut r)) => {
            let mut bits = Vec::new();
            r.read_records(rows, None, None, &mut bits)?;
            v.extend(bits.into_iter().map(i32::cast_unsigned));
        }
        (Column::Maybe(v), ColumnReader::Int32ColumnReader(mut r)) => {
            let (mut bits, mut present) = (Vec::new(), Vec::new());
            r.read_records(rows, Some(&mut present), None, &mut bits)?;
            // Values are stored without gaps; the levels say which rows have one.
            let mut values = bits.into_iter().map(i32::cast_unsigned);
            v.extend(present.into_iter().map(|level| if level > 0 { values.next() } else { None }));
        }
        (Column::F64(v), ColumnReader::DoubleColumnReader(mut r)) => {
            r.read_records(rows, None, None, v)?;
        }
        (Column::Text(v), ColumnReader::ByteArrayColumnReader(mut r)) => {
            let mut texts = Vec::new();
            r.read_records(rows, None, None, &mut texts)?;
            for t in texts {
                v.push(t.as_utf8()?);
            }
        }
        _ => return Err(ParquetError::General("a column's type differs from its schema".to_owned())),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::sample;
    use std::io::{Seek, SeekFrom};

    fn round_trip(table: &Table, metadata: &[(String, String)]) -> (Table, Vec<(String, String)>) {
        let mut file = tempfile::tempfile().unwrap();
        write(table, metadata, file.try_clone().unwrap()).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        read(table.name(), file).unwrap()
    }

    #[test]
    fn what_is_written_is_read_back() {
        let metadata = [("netloom.version".to_owned(), "0.1.0".to_owned())];
        for rows in [0, 1, 1000] {
            let table = sample(rows);
            assert_eq!(round_trip(&table, &metadata), (table, metadata.to_vec()));
        }
    }

    #[test]
    fn several_row_groups_are_one_table() {
        let rows = GROUP + 17;
        let table = Table::new("long").with("x", Column::U32((0..rows as u32).collect()));
        assert_eq!(round_trip(&table, &[]).0, table);
    }

    /// Dictionaries have a bound; texts beyond it are written as they are.
    #[test]
    fn many_different_texts_are_read_back() {
        let texts: Vec<String> = (0..100_000).map(|n| format!("a text of its own, number {n}")).collect();
        let table = Table::new("texts").with("x", Column::Text(texts.iter().map(String::as_str).collect()));
        assert_eq!(round_trip(&table, &[]).0, table);
    }

    #[test]
    fn the_same_table_gives_the_same_bytes() {
        let bytes = || {
            let mut out = Vec::new();
            write(&sample(5000), &[("a".to_owned(), "b".to_owned())], &mut out).unwrap();
            out
        };
        let first = bytes();
        assert_eq!(first, bytes());
        assert_eq!(&first[..4], b"PAR1");
    }

    #[test]
    fn other_files_are_refused() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"not a table").unwrap();
        assert!(read("x", file).is_err());
    }

    /// Who reads somebody's results gets a table or an error, whatever one byte of the file says.
    #[test]
    fn no_byte_of_a_file_is_trusted() {
        let mut bytes = Vec::new();
        write(&sample(3), &[("a".to_owned(), "b".to_owned())], &mut bytes).unwrap();
        let mut refused = 0;
        for at in 0..bytes.len() {
            let others = (0..8).map(|bit| bytes[at] ^ (1 << bit)).chain([0, u8::MAX, b'\n']);
            for other in others {
                let mut changed = bytes.clone();
                changed[at] = other;
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(&changed).unwrap();
                let table = read("x", file);
                refused += u32::from(table.is_err());
            }
        }
        assert!(refused as usize > bytes.len(), "{refused} of {} bytes", bytes.len());
    }
}
