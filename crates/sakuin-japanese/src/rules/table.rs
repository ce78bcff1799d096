//! Reading the two tables: tab-separated cells, `#` comments, a header line for every section.
//!
//! What a cell means is decided here; whether the cells fit each other is decided when they are expanded.

use super::Kind;

/// Why a table of rules was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// A line has another number of cells than the header of its section.
    #[error("{file}, line {line}: {found} cells where the header has {expected}")]
    Cells {
        /// The table.
        file: &'static str,
        /// Line, counted from 1.
        line: usize,
        /// Cells in the line.
        found: usize,
        /// Cells in the header.
        expected: usize,
    },
    /// A line stands before any header line.
    #[error("{file}, line {line}: no header line before it")]
    NoHeader {
        /// The table.
        file: &'static str,
        /// Line, counted from 1.
        line: usize,
    },
    /// The last column of an auxiliary is none of `te`, `voice`, `open`, `-`.
    #[error("auxiliaries.tsv, line {line}: unknown kind `{kind}`")]
    Kind {
        /// Line, counted from 1.
        line: usize,
        /// What stands there.
        kind: String,
    },
    /// An auxiliary attaches to a base that no section of the classes has.
    #[error("auxiliaries.tsv, line {line}: no class has a base `{base}`")]
    Base {
        /// Line, counted from 1.
        line: usize,
        /// The base asked for.
        base: String,
    },
    /// The dictionary form of an auxiliary is inflected by no line of the class it is given.
    #[error("auxiliaries.tsv, line {line}: `{surface}` does not end as a word of class `{class}`")]
    Then {
        /// Line, counted from 1.
        line: usize,
        /// The auxiliary.
        surface: String,
        /// The class it is given.
        class: String,
    },
    /// Two lines of one reason differ in label or kind.
    #[error("auxiliaries.tsv, line {line}: reason `{reason}` has another label or kind before")]
    Reason {
        /// Line, counted from 1.
        line: usize,
        /// The reason.
        reason: String,
    },
    /// Two auxiliaries follow each other and neither adds text, so that a chain could grow without end.
    #[error("`{second}` follows `{first}` and neither adds a kana")]
    Empty {
        /// The reason that comes first.
        first: String,
        /// The reason that follows it.
        second: String,
    },
    /// More classes, reasons, stems, characters or states than their numbers can count.
    #[error("{found} {what}, at most {most}")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
}

/// One line of the classes: the names it gives a paradigm to, and its bases.
pub(super) struct ClassRow<'t> {
    pub(super) names: Vec<&'t str>,
    pub(super) cut: &'t str,
    /// Base and what replaces the cut part, one pair for each alternative.
    pub(super) bases: Vec<(&'t str, &'t str)>,
}

/// One line of the auxiliaries.
pub(super) struct AuxiliaryRow<'t> {
    pub(super) line: usize,
    pub(super) bases: Vec<&'t str>,
    pub(super) surface: &'t str,
    pub(super) class: Option<&'t str>,
    pub(super) reason: &'t str,
    pub(super) label: &'t str,
    pub(super) kind: Kind,
}

pub(super) fn classes<'t>(text: &'t str) -> Result<Vec<ClassRow<'t>>, RulesError> {
    let row = |(_, header, cells): Line<'t>| {
        let bases = header.iter().zip(&cells).skip(2).filter(|(_, cell)| **cell != "-");
        let bases = bases.flat_map(|(base, cell)| cell.split('|').map(|text| (*base, zero(text))));
        Ok(ClassRow { names: cells[0].split('|').collect(), cut: cells[1], bases: bases.collect() })
    };
    lines("classes.tsv", "class", text)?.into_iter().map(row).collect()
}

pub(super) fn auxiliaries<'t>(text: &'t str) -> Result<Vec<AuxiliaryRow<'t>>, RulesError> {
    let row = |(line, _, cells): Line<'t>| {
        let &[base, surface, class, reason, label, kind] = cells.as_slice() else {
            let (file, found) = ("auxiliaries.tsv", cells.len());
            return Err(RulesError::Cells { file, line, found, expected: 6 });
        };
        let kind = match kind {
            "-" => Kind::Plain,
            "te" => Kind::Te,
            "voice" => Kind::Voice,
            "open" => Kind::Open,
            _ => return Err(RulesError::Kind { line, kind: kind.to_owned() }),
        };
        Ok(AuxiliaryRow {
            line,
            bases: base.split('|').collect(),
            surface: zero(surface),
            class: (class != "-").then_some(class),
            reason,
            label,
            kind,
        })
    };
    lines("auxiliaries.tsv", "base", text)?.into_iter().map(row).collect()
}

fn zero(cell: &str) -> &str {
    if cell == "∅" { "" } else { cell }
}

/// A line's number, the header of its section, and its cells.
type Line<'t> = (usize, Vec<&'t str>, Vec<&'t str>);

fn lines<'t>(
    file: &'static str,
    first_column: &str,
    text: &'t str,
) -> Result<Vec<Line<'t>>, RulesError> {
    let mut header: Option<Vec<&str>> = None;
    let mut rows = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let cells: Vec<&str> = text.split('\t').collect();
        if cells[0] == first_column {
            header = Some(cells);
            continue;
        }
        let header = header.as_ref().ok_or(RulesError::NoHeader { file, line })?;
        if cells.len() != header.len() {
            let (found, expected) = (cells.len(), header.len());
            return Err(RulesError::Cells { file, line, found, expected });
        }
        rows.push((line, header.clone(), cells));
    }
    Ok(rows)
}
