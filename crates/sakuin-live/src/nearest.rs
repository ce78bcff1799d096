//! Which vectors are nearest to one, exactly: as if every one had been compared.

mod scan;
mod shared;

#[cfg(test)]
mod tests;

use std::{cmp::Ordering, collections::BinaryHeap};

use crate::{
    Filter, Metric, Record, ValueError,
    filter::Checked,
    kernels,
    schema::{Cells, Schema},
    value::Cell,
    vectors,
};

pub(crate) use {scan::search, shared::Searches};

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

/// A search that fits its table.
#[derive(Clone, Debug)]
pub(crate) struct Sought {
    pub(crate) vector: Box<[f32]>,
    pub(crate) count: usize,
    pub(crate) metric: Metric,
    pub(crate) filter: Checked,
    /// The vector's length.
    pub(crate) norm: f64,
    /// Where a record's vector is.
    pub(crate) place: usize,
}

/// What a transaction was told, for the committer to ask of a later change whether it would have been told otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) sought: Sought,
    /// The nearest first.
    pub(crate) ranked: Vec<Ranked>,
}

/// A record that may be among the nearest. The nearer is the lesser, and of two as near the one with the lower id.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ranked {
    /// The greater, the nearer.
    rank: f64,
    pub(crate) id: u64,
}

/// The nearest so far, up to a number of them.
pub(crate) struct Top {
    count: usize,
    found: BinaryHeap<Ranked>,
}

impl Nearest {
    pub(crate) fn check(self, schema: &Schema) -> Result<Sought, ValueError> {
        let vectors = schema.vectors().ok_or(ValueError::NoVectors)?;
        let (place, _) = schema.cell(crate::VECTOR, &self.vector.as_slice().into())?;
        let metric = self.metric.unwrap_or(vectors.metric);
        let norm = kernels::product(&self.vector, &self.vector).sqrt();
        if metric == Metric::Cosine && norm == 0.0 {
            return Err(ValueError::NoDirection);
        }
        let (vector, filter) = (self.vector.into(), self.filter.check(schema)?);
        Ok(Sought { vector, count: self.count, metric, filter, norm, place })
    }
}

impl Sought {
    /// How near a vector is; none if it has no direction and that is what counts.
    pub(crate) fn rank(&self, id: u64, vector: &[f32]) -> Option<Ranked> {
        let rank = match self.metric {
            Metric::Dot => kernels::product(&self.vector, vector),
            Metric::L2 => -kernels::distance(&self.vector, vector).sqrt(),
            Metric::Cosine => {
                let norm = kernels::product(vector, vector).sqrt();
                if norm == 0.0 {
                    return None;
                }
                kernels::product(&self.vector, vector) / (self.norm * norm)
            }
        };
        Some(Ranked { rank, id })
    }

    /// The same of a record that lies in no table yet; none if the search does not want it.
    pub(crate) fn rank_cells(&self, id: u64, cells: &Cells) -> Option<Ranked> {
        match &cells[self.place] {
            Some(Cell::Blob(bytes)) if self.filter.matches_cells(cells) => {
                self.rank(id, &vectors::of_bytes(bytes))
            }
            _ => None,
        }
    }

    /// What a caller is told.
    pub(crate) fn score(&self, ranked: Ranked) -> f64 {
        match self.metric {
            Metric::L2 => -ranked.rank,
            _ => ranked.rank,
        }
    }
}

impl Told {
    /// Whether a record that has become this, or is gone, changes the answer.
    pub(crate) fn is_changed_by(&self, id: u64, after: Option<&Cells>) -> bool {
        let enters = |cells| match self.sought.rank_cells(id, cells) {
            Some(_) if self.ranked.len() < self.sought.count => true,
            Some(ranked) => self.ranked.last().is_some_and(|last| ranked < *last),
            None => false,
        };
        self.ranked.iter().any(|ranked| ranked.id == id) || after.is_some_and(enters)
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> Ordering {
        other.rank.total_cmp(&self.rank).then(self.id.cmp(&other.id))
    }
}

impl Top {
    pub(crate) fn of(count: usize) -> Top {
        Top { count, found: BinaryHeap::new() }
    }

    fn offer(&mut self, ranked: Ranked) {
        if self.found.len() < self.count {
            self.found.push(ranked);
        } else if let Some(mut last) = self.found.peek_mut()
            && ranked < *last
        {
            *last = ranked;
        }
    }

    pub(crate) fn extend(&mut self, ranked: impl IntoIterator<Item = Ranked>) {
        ranked.into_iter().for_each(|ranked| self.offer(ranked));
    }

    /// The last of them, once there are as many as are wanted: who is not before it is not among them.
    pub(crate) fn last(&self) -> Option<Ranked> {
        self.found.peek().filter(|_| self.found.len() == self.count).copied()
    }

    /// The nearest first.
    pub(crate) fn sorted(self) -> Vec<Ranked> {
        self.found.into_sorted_vec()
    }
}
