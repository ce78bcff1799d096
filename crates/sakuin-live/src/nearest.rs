//! Which vectors are nearest to one, exactly: as if every one had been compared.

use crate::{Filter, Metric, Record, ValueError, rows::Row, schema::Schema, table::Table};

/// What is looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    /// Near to what.
    pub vector: Vec<f32>,
    /// How many records.
    pub count: usize,
    /// What makes two vectors near; the table's metric if it is not said.
    pub metric: Option<Metric>,
    /// Only among these.
    pub filter: Filter,
}

/// The nearest records of one snapshot, the nearest first; of two that are equally near the one with the lower id.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Neighbors {
    /// How many commits the snapshot shows.
    pub snapshot: u64,
    /// The records with how near they are, in the metric's measure.
    pub found: Vec<Neighbor>,
}

/// A record that is near.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Neighbor {
    /// The record.
    pub record: Record,
    /// The cosine, the product or the distance.
    pub score: f64,
}

impl Nearest {
    /// The `count` nearest to a vector, by the table's metric.
    pub fn to(vector: &[f32], count: usize) -> Nearest {
        Nearest { vector: vector.to_vec(), count, metric: None, filter: Filter::all() }
    }
}

/// The ids and scores of the nearest rows: what every faster way is held against.
pub(crate) fn plainly<'t>(
    table: &'t Table,
    nearest: &Nearest,
) -> Result<Vec<(u64, Row<'t>, f64)>, ValueError> {
    let (place, metric) = checked(&table.schema, nearest)?;
    let rows = table.search(&nearest.filter.check(&table.schema)?).into_iter();
    let mut found: Vec<_> = rows
        .filter_map(|(id, row)| {
            let crate::Value::Vector(vector) = row.cell(place)?.value(crate::Type::Vector) else {
                return None;
            };
            Some((id, row, score(metric, &nearest.vector, &vector)))
        })
        .collect();
    let greater_is_nearer = metric != Metric::L2;
    found.sort_by(|(a, _, near), (b, _, far)| {
        let order = if greater_is_nearer { far.total_cmp(near) } else { near.total_cmp(far) };
        order.then(a.cmp(b))
    });
    found.truncate(nearest.count);
    Ok(found)
}

fn checked(schema: &Schema, nearest: &Nearest) -> Result<(usize, Metric), ValueError> {
    let vectors = schema.vectors().ok_or(ValueError::NoVectors)?;
    let (place, _) = schema.cell(crate::VECTOR, &nearest.vector.as_slice().into())?;
    Ok((place, nearest.metric.unwrap_or(vectors.metric)))
}

fn score(metric: Metric, one: &[f32], other: &[f32]) -> f64 {
    let sum = |of: fn(f64, f64) -> f64| -> f64 {
        one.iter().zip(other).map(|(a, b)| of(f64::from(*a), f64::from(*b))).sum()
    };
    match metric {
        Metric::Dot => sum(|a, b| a * b),
        Metric::Cosine => sum(|a, b| a * b) / (sum(|a, _| a * a).sqrt() * sum(|_, b| b * b).sqrt()),
        Metric::L2 => sum(|a, b| (a - b) * (a - b)).sqrt(),
    }
}
