//! Clients of the original's service `db.DB`: the corrected workload, which asks for values that are there, over
//! channels it keeps, and checks the answers; and the workload as it was.

use std::{collections::HashMap, time::Duration};

use features_original::{Indexes, Record, Records, Value, db_client::DbClient};
use tonic::transport::{Channel, Endpoint};

use crate::load::Worker;

/// Some ten records have each of these.
pub const VALUES: i32 = 100_000;

/// Searches for values that are there.
pub struct Searches {
    client: DbClient<Channel>,
    random: fastrand::Rng,
}

/// Searches for a value and gives each record found another one. That it takes two calls is what loses updates.
pub struct Cycles {
    client: DbClient<Channel>,
    random: fastrand::Rng,
    /// Values below this one are searched for and given.
    values: i32,
    moves: Vec<Move>,
}

/// An acknowledged change of a record's value, from the one it was found with.
#[derive(Clone, Copy)]
pub struct Move {
    pub index: i64,
    pub from: i64,
    pub to: i64,
}

/// The workload as it was: a channel for each turn, a client that repeats one query, nine of ten queries for values
/// that no record has, new values from the same range, answers not looked at.
pub struct AsItWas {
    endpoint: Endpoint,
    query: i32,
    updates: bool,
    random: fastrand::Rng,
}

/// Searches for a value that no other client touches, deletes what was found, and searches again.
pub struct Deletes {
    client: DbClient<Channel>,
    values: std::iter::StepBy<std::ops::Range<i32>>,
    deleted: usize,
    /// Records that were to be deleted and are still there: others are gone in their place.
    left: usize,
    failed: usize,
}

impl Searches {
    pub fn new(channel: Channel, seed: usize) -> Searches {
        Searches { client: DbClient::new(channel), random: random(seed) }
    }
}

impl Worker for Searches {
    async fn once(&mut self) -> u64 {
        let value = self.random.i32(0..VALUES);
        search(&mut self.client, value).await.expect("searches do not fail");
        1
    }
}

impl Cycles {
    pub fn new(channel: Channel, seed: usize, values: i32) -> Cycles {
        let client = DbClient::new(channel);
        Cycles { client, random: random(seed), values, moves: Vec::new() }
    }

    pub fn moves(&self) -> &[Move] {
        &self.moves
    }
}

impl Worker for Cycles {
    async fn once(&mut self) -> u64 {
        let from = self.random.i32(0..self.values);
        let mut records = search(&mut self.client, from).await.expect("searches do not fail");
        for record in &mut records {
            record.value = self.random.i32(0..self.values);
        }
        let moved = |record: &Record| Move {
            index: record.index.into(),
            from: from.into(),
            to: record.value.into(),
        };
        self.moves.extend(records.iter().map(moved));
        self.client.update(Records { records }).await.expect("updates do not fail");
        1
    }
}

impl AsItWas {
    pub fn new(endpoint: Endpoint, seed: usize, updates: bool) -> AsItWas {
        let mut random = random(seed);
        AsItWas { endpoint, query: random.i32(0..10 * VALUES), updates, random }
    }
}

impl Worker for AsItWas {
    async fn once(&mut self) -> u64 {
        let channel = self.endpoint.connect().await.expect("the server listens");
        let mut client = DbClient::new(channel);
        let found = client.search(Value { value: self.query }).await.expect("it searches");
        if self.updates {
            let mut records = found.into_inner().records;
            records.iter_mut().for_each(|record| record.value = self.random.i32(0..10 * VALUES));
            client.update(Records { records }).await.expect("it updates");
        }
        1
    }
}

impl Deletes {
    pub fn new(channel: Channel, client: usize, clients: usize) -> Deletes {
        let values = (client as i32..VALUES).step_by(clients);
        Deletes { client: DbClient::new(channel), values, deleted: 0, left: 0, failed: 0 }
    }

    /// How many records were deleted, how many of those are wrong ones, and how many calls failed.
    pub fn outcome(&self) -> (usize, usize, usize) {
        (self.deleted, self.left, self.failed)
    }

    async fn delete(&mut self, value: i32) -> Result<(), tonic::Status> {
        let found = search(&mut self.client, value).await?;
        let indexes: Vec<i32> = found.iter().map(|record| record.index).collect();
        let count = indexes.len();
        self.client.delete(Indexes { indexes }).await?;
        self.deleted += count;
        self.left += search(&mut self.client, value).await?.len();
        Ok(())
    }
}

impl Worker for Deletes {
    async fn once(&mut self) -> u64 {
        let Some(value) = self.values.next() else {
            // A quick machine has deleted everything before the time is over.
            tokio::time::sleep(Duration::from_millis(1)).await;
            return 0;
        };
        self.failed += usize::from(self.delete(value).await.is_err());
        1
    }
}

/// The records with a value, which must be what they are.
async fn search(client: &mut DbClient<Channel>, value: i32) -> Result<Vec<Record>, tonic::Status> {
    let records = client.search(Value { value }).await?.into_inner().records;
    let is_sound = records.is_sorted_by(|one, other| one.index < other.index)
        && records.iter().all(|record| record.value == value);
    assert!(is_sound, "a search for {value} found {records:?}");
    Ok(records)
}

/// Whether the server still answers after it was told to update a record that is not there.
pub async fn survives_bad_index(endpoint: &Endpoint) -> bool {
    let Ok(channel) = endpoint.connect().await else { return false };
    let records = vec![Record { index: i32::MAX, value: 0 }];
    let refused = DbClient::new(channel).update(Records { records }).await;
    assert!(refused.is_err(), "a record that is not there was updated");
    let Ok(channel) = endpoint.connect().await else { return false };
    DbClient::new(channel).search(Value { value: 1 }).await.is_ok()
}

/// How many moves were lost. Those of a record make a path from value to value. A value that is left more often than
/// it is come to is the first; every further one shows a move that was written over by somebody who had not seen it.
pub fn lost(moves: impl Iterator<Item = Move>) -> usize {
    let mut left: HashMap<(i64, i64), i64> = HashMap::new();
    for Move { index, from, to } in moves {
        *left.entry((index, from)).or_default() += 1;
        *left.entry((index, to)).or_default() -= 1;
    }
    let mut surplus: HashMap<i64, i64> = HashMap::new();
    for ((index, _), left) in left {
        *surplus.entry(index).or_default() += left.max(0);
    }
    surplus.into_values().map(|surplus| (surplus - 1).max(0) as usize).sum()
}

pub fn random(seed: usize) -> fastrand::Rng {
    fastrand::Rng::with_seed(seed as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_from_where_another_left_is_a_lost_one() {
        let moves = |moves: &[(i64, i64, i64)]| {
            lost(moves.iter().map(|&(index, from, to)| Move { index, from, to }))
        };
        assert_eq!(moves(&[(1, 5, 6), (1, 6, 7), (1, 7, 5), (1, 5, 9), (2, 5, 6)]), 0);
        assert_eq!(moves(&[(1, 5, 6), (1, 5, 7)]), 1);
        assert_eq!(moves(&[(1, 5, 6), (1, 5, 7), (1, 5, 8), (1, 8, 9), (2, 6, 6)]), 2);
    }
}
