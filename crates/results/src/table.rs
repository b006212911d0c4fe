//! Tidy tables: one observation per row, one quantity per column, its unit in the column's name.

use base::sorted::SortedMap;

/// A table of equally long columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    name: String,
    columns: Vec<(String, Column)>,
    internal: bool,
}

/// Values of one column. Only [`Column::Maybe`] has rows without a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Unsigned 64-bit integers.
    U64(Vec<u64>),
    /// Signed 64-bit integers.
    I64(Vec<i64>),
    /// Unsigned 32-bit integers.
    U32(Vec<u32>),
    /// Unsigned 32-bit integers that some rows do not have: null in Parquet, an empty field in CSV.
    Maybe(Vec<Option<u32>>),
    /// Floating-point numbers of 64 bits.
    F64(Vec<f64>),
    /// Texts, of which few are different.
    Text(TextColumn),
}

/// Texts, each different one stored once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextColumn {
    words: Vec<String>,
    codes: Vec<u32>,
    code_of: SortedMap<String, u32>,
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// A row of [`Column::U64`].
    U64(u64),
    /// A row of [`Column::I64`].
    I64(i64),
    /// For [`Column::U32`] and [`Column::Maybe`].
    U32(u32),
    /// For [`Column::Maybe`]: this row has no value.
    Missing,
    /// A row of [`Column::F64`].
    F64(f64),
    /// A row of [`Column::Text`].
    Text(&'a str),
}

impl Table {
    /// An empty table without columns; `name` becomes the file's, so it must be lower-case letters, digits, `-` or `_`.
    ///
    /// # Panics
    /// If the name has any other character.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self::named(name).unwrap_or_else(|| panic!("`{name}` is no name for a table"))
    }

    /// The same of a name that somebody else gives; none if it is no name for a table.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
        let table = || Self { name: name.to_owned(), columns: Vec::new(), internal: false };
        (!name.is_empty() && name.chars().all(good)).then(table)
    }

    /// The same as a table that other results are made of and nobody is shown: it becomes no file.
    #[must_use]
    pub fn internal(self) -> Self {
        Self { internal: true, ..self }
    }

    /// True of what [`Table::internal`] gives.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        self.internal
    }

    /// Appends a whole column.
    ///
    /// # Panics
    /// If its length differs from the other columns' or its name exists: our bug.
    #[must_use]
    pub fn with(self, name: &str, column: Column) -> Self {
        self.try_with(name, column).unwrap_or_else(|why| panic!("{why}"))
    }

    /// Appends a whole column that somebody else made.
    ///
    /// # Errors
    /// If its length differs from the other columns' or its name exists.
    pub fn try_with(mut self, name: &str, column: Column) -> Result<Self, String> {
        match self.columns.first() {
            Some((first, c)) if c.len() != column.len() => {
                Err(format!("columns `{first}` and `{name}` of `{}` differ in length", self.name))
            }
            _ if self.column(name).is_some() => {
                Err(format!("column `{name}` appears twice in `{}`", self.name))
            }
            _ => {
                self.columns.push((name.to_owned(), column));
                Ok(self)
            }
        }
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If the cells do not match the columns in number and type: our bug.
    pub fn push(&mut self, row: &[Cell<'_>]) {
        assert_eq!(row.len(), self.columns.len(), "a row of `{}` has the wrong number of cells", self.name);
        for ((name, column), cell) in self.columns.iter_mut().zip(row) {
            match (column, *cell) {
                (Column::U64(v), Cell::U64(x)) => v.push(x),
                (Column::I64(v), Cell::I64(x)) => v.push(x),
                (Column::U32(v), Cell::U32(x)) => v.push(x),
                (Column::Maybe(v), Cell::U32(x)) => v.push(Some(x)),
                (Column::Maybe(v), Cell::Missing) => v.push(None),
                (Column::F64(v), Cell::F64(x)) => v.push(x),
                (Column::Text(v), Cell::Text(x)) => v.push(x),
                (_, cell) => panic!("{cell:?} does not fit column `{name}` of `{}`", self.name),
            }
        }
    }

    /// Name of the table, which its file has too.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, c)| c.len())
    }

    /// Names and columns in order.
    #[must_use]
    pub fn columns(&self) -> &[(String, Column)] {
        &self.columns
    }

    /// A column by name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(n, _)| n == name).map(|(_, c)| c)
    }

    /// A column of words by name.
    #[must_use]
    pub fn text_column(&self, name: &str) -> Option<&TextColumn> {
        match self.column(name) {
            Some(Column::Text(column)) => Some(column),
            _ => None,
        }
    }

    /// A column of 32-bit integers by name.
    #[must_use]
    pub fn u32_column(&self, name: &str) -> Option<&[u32]> {
        match self.column(name) {
            Some(Column::U32(column)) => Some(column),
            _ => None,
        }
    }

    /// A column of 64-bit integers by name.
    #[must_use]
    pub fn u64_column(&self, name: &str) -> Option<&[u64]> {
        match self.column(name) {
            Some(Column::U64(column)) => Some(column),
            _ => None,
        }
    }
}

impl Column {
    /// An empty column of unsigned 32-bit integers.
    #[must_use]
    pub const fn u32s() -> Self {
        Self::U32(Vec::new())
    }

    /// An empty column of unsigned 32-bit integers that some rows do not have.
    #[must_use]
    pub const fn maybe() -> Self {
        Self::Maybe(Vec::new())
    }

    /// An empty column of unsigned 64-bit integers.
    #[must_use]
    pub const fn u64s() -> Self {
        Self::U64(Vec::new())
    }

    /// An empty column of floats.
    #[must_use]
    pub const fn f64s() -> Self {
        Self::F64(Vec::new())
    }

    /// An empty column of texts.
    #[must_use]
    pub fn text() -> Self {
        Self::Text(TextColumn::default())
    }

    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::U64(v) => v.len(),
            Self::I64(v) => v.len(),
            Self::U32(v) => v.len(),
            Self::Maybe(v) => v.len(),
            Self::F64(v) => v.len(),
            Self::Text(v) => v.len(),
        }
    }

    /// True if there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl TextColumn {
    /// A column of these words, row by row as `codes` say; none if a word is there twice or a code has no word.
    #[must_use]
    pub fn of(words: Vec<String>, codes: Vec<u32>) -> Option<Self> {
        let numbers = 0..u32::try_from(words.len()).ok()?;
        let code_of: SortedMap<String, u32> = words.iter().cloned().zip(numbers.clone()).collect();
        let sound = code_of.len() == words.len() && codes.iter().all(|code| numbers.contains(code));
        sound.then_some(Self { words, codes, code_of })
    }

    /// Appends a text.
    pub fn push(&mut self, text: &str) {
        let code = match self.code_of.get(text) {
            Some(&code) => code,
            None => {
                let code = u32::try_from(self.words.len()).expect("fewer than 2^32 different texts");
                self.words.push(text.to_owned());
                self.code_of.insert(text.to_owned(), code);
                code
            }
        };
        self.codes.push(code);
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// True if there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// Texts row by row.
    pub fn iter(&self) -> impl Iterator<Item = &str> + '_ {
        self.codes.iter().map(|&c| self.words[c as usize].as_str())
    }

    /// The different texts, in the order of first appearance.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Index in [`TextColumn::words`], row by row.
    #[must_use]
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }
}

/// What `column` says, in the codes of `of`: tables number their words by themselves. A word that `of` lacks is no job of a rank.
pub(crate) fn codes(column: &TextColumn, of: &TextColumn) -> Vec<u32> {
    let code = |word: &String| of.words().iter().position(|w| w == word).map_or(u32::MAX, |at| at as u32);
    let codes: Vec<u32> = column.words().iter().map(code).collect();
    column.codes().iter().map(|&own| codes[own as usize]).collect()
}

impl<'a> FromIterator<&'a str> for TextColumn {
    fn from_iter<I: IntoIterator<Item = &'a str>>(texts: I) -> Self {
        let mut column = Self::default();
        texts.into_iter().for_each(|t| column.push(t));
        column
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Every column type, extremes included.
    pub(crate) fn sample(rows: usize) -> Table {
        let mut table = Table::new("sample")
            .with("time_ps", Column::U64(vec![]))
            .with("slack_ps", Column::I64(vec![]))
            .with("link", Column::U32(vec![]))
            .with("port", Column::maybe())
            .with("utilisation", Column::F64(vec![]))
            .with("class", Column::Text(TextColumn::default()));
        for i in 0..rows as u64 {
            table.push(&[
                Cell::U64(u64::MAX - i),
                Cell::I64(i64::MIN + i as i64),
                Cell::U32(u32::MAX - i as u32),
                if i % 3 == 1 { Cell::Missing } else { Cell::U32(i as u32) },
                Cell::F64(i as f64 / 3.0),
                Cell::Text(["local", "global", "größer"][i as usize % 3]),
            ]);
        }
        table
    }

    #[test]
    fn rows_and_columns_agree() {
        let t = sample(7);
        assert_eq!((t.rows(), t.columns().len()), (7, 6));
        let Some(Column::Text(c)) = t.column("class") else { panic!() };
        assert_eq!(c.words().len(), 3);
        assert_eq!(c.codes(), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(c.iter().nth(5), Some("größer"));
        assert!(t.column("nothing").is_none());
    }

    #[test]
    #[should_panic(expected = "does not fit column `link`")]
    fn a_cell_of_another_type_is_our_bug() {
        let others = [Cell::U32(0), Cell::F64(0.0), Cell::Text("")];
        sample(0).push(&[&[Cell::U64(0), Cell::I64(0), Cell::U64(0)], &others[..]].concat());
    }

    #[test]
    #[should_panic(expected = "differ in length")]
    fn a_shorter_column_is_our_bug() {
        let _ = sample(2).with("more", Column::U32(vec![1]));
    }

    #[test]
    #[should_panic(expected = "appears twice")]
    fn a_second_column_of_a_name_is_our_bug() {
        let _ = sample(1).with("link", Column::U32(vec![1]));
    }
}
