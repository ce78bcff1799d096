//! Looks for what a strictly serializable store never shows: histories of lists that transactions read and append to
//! go to adya, which infers from the reads which transaction came before which, adds real time, and searches for
//! cycles. The tests plant each anomaly that we rely on it to find.

use adya::{
    History, Opts, Workload,
    history::{Id, Interner, Mop, Op, OpType, ReadValue, Scalar},
};

/// A transaction as its client saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Nanoseconds on one clock: before it was sent, and after it was answered.
    pub(crate) time: (u64, u64),
    /// Clients do one thing after another. One that gives up an answer goes on under another number.
    pub(crate) client: i64,
    pub(crate) outcome: Outcome,
    /// Key and elements.
    pub(crate) reads: Vec<(i64, Vec<i64>)>,
    /// Key and element, after all reads.
    pub(crate) appends: Vec<(i64, i64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Committed,
    Failed,
    Unknown,
}

/// The kinds of anomalies in a history with the first of each explained; empty if there are none.
pub(crate) fn anomalies(history: Vec<Seen>) -> Vec<(String, String)> {
    let mut interner = Interner::default();
    let mut ops: Vec<Op> = Vec::with_capacity(2 * history.len());
    for seen in history {
        let mut begun = Vec::new();
        let mut done = Vec::new();
        for (key, elements) in seen.reads {
            let key = interner.intern(Scalar::Int(key));
            let elements: Vec<Id> =
                elements.into_iter().map(|element| interner.intern(Scalar::Int(element))).collect();
            begun.push(Mop::Read { key, value: ReadValue::Nil });
            let is_known = seen.outcome == Outcome::Committed;
            let value = if is_known { ReadValue::List(elements) } else { ReadValue::Nil };
            done.push(Mop::Read { key, value });
        }
        for (key, element) in seen.appends {
            let key = interner.intern(Scalar::Int(key));
            let append = Mop::Append { key, value: interner.intern(Scalar::Int(element)) };
            begun.push(append.clone());
            done.push(append);
        }
        let kind = match seen.outcome {
            Outcome::Committed => OpType::Ok,
            Outcome::Failed => OpType::Fail,
            Outcome::Unknown => OpType::Info,
        };
        let op = |time: u64, kind, value| Op {
            index: 0,
            kind,
            process: Some(seen.client),
            value,
            time: Some(time as i64),
        };
        ops.push(op(seen.time.0, OpType::Invoke, begun));
        ops.push(op(seen.time.1, kind, done));
    }
    // Of the same moment, what begins comes before what ends: then they overlap, which proves less.
    ops.sort_by_key(|op| (op.time, op.kind != OpType::Invoke));
    for (at, op) in ops.iter_mut().enumerate() {
        op.index = at as u64;
    }
    let history = History::from_ops(ops, interner);
    let report = adya::check(&history, Workload::ListAppend, &Opts::default());
    let first = |kind: &String| {
        let anomaly = report.anomalies.get(kind).and_then(|found| found.first());
        (kind.clone(), anomaly.map_or(String::new(), |anomaly| anomaly.explanation.clone()))
    };
    report.anomaly_types.iter().map(first).collect()
}

/// A transaction as `client, (start, end), outcome, reads, appends`.
type Told<'h> = (i64, (u64, u64), Outcome, &'h [(i64, &'h [i64])], &'h [(i64, i64)]);

/// What adya calls the anomalies of a few transactions.
#[track_caller]
fn check(history: &[Told<'_>], kinds: &[&str]) {
    let seen = history.iter().map(|&(client, time, outcome, reads, appends)| Seen {
        time,
        client,
        outcome,
        reads: reads.iter().map(|(key, elements)| (*key, elements.to_vec())).collect(),
        appends: appends.to_vec(),
    });
    let found: Vec<String> = anomalies(seen.collect()).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(found, kinds);
}

use Outcome::{Committed, Failed, Unknown};

#[test]
fn a_sound_history_is_sound() {
    check(
        &[
            (1, (0, 10), Committed, &[(1, &[])], &[(1, 1)]),
            (2, (5, 15), Committed, &[(1, &[1])], &[(1, 2)]),
            (3, (0, 20), Unknown, &[], &[(1, 3)]),
            (4, (30, 40), Committed, &[(1, &[1, 2])], &[]),
            (5, (30, 40), Failed, &[], &[(1, 9)]),
            (2, (50, 60), Committed, &[(1, &[1, 2, 3]), (2, &[])], &[(2, 4)]),
        ],
        &[],
    );
}

#[test]
fn a_lost_update_is_found() {
    check(
        &[
            (1, (0, 10), Committed, &[(1, &[])], &[(1, 1)]),
            (2, (0, 10), Committed, &[(1, &[])], &[(1, 2)]),
            (3, (20, 30), Committed, &[(1, &[2])], &[]),
        ],
        &["G-single-item", "lost-update"],
    );
}

#[test]
fn a_write_skew_is_found() {
    check(
        &[
            (1, (0, 10), Committed, &[(1, &[]), (2, &[])], &[(1, 1)]),
            (2, (0, 10), Committed, &[(1, &[]), (2, &[])], &[(2, 2)]),
            (3, (20, 30), Committed, &[(1, &[1]), (2, &[2])], &[]),
        ],
        &["G2-item"],
    );
}

/// A search is a read of the list of its members: one who misses a member that another inserted has a phantom.
#[test]
fn a_phantom_is_found() {
    check(
        &[
            (1, (0, 10), Committed, &[(101, &[])], &[(1, 1)]),
            (2, (0, 10), Committed, &[(1, &[])], &[(101, 2)]),
        ],
        &["G2-item"],
    );
}

#[test]
fn a_read_of_what_failed_is_found() {
    check(
        &[(1, (0, 10), Failed, &[], &[(1, 1)]), (2, (20, 30), Committed, &[(1, &[1])], &[])],
        &["G1a", "empty-transaction-graph"],
    );
}

#[test]
fn half_a_transaction_is_found() {
    check(
        &[
            (1, (0, 10), Committed, &[], &[(1, 1), (2, 2)]),
            (2, (0, 10), Committed, &[(1, &[1]), (2, &[])], &[]),
        ],
        &["G-single-item"],
    );
}

#[test]
fn a_stale_read_is_found() {
    check(
        &[
            (1, (0, 10), Committed, &[], &[(1, 1)]),
            (2, (20, 30), Committed, &[(1, &[])], &[]),
            (3, (40, 50), Committed, &[(1, &[1])], &[]),
        ],
        &["G-single-item-realtime"],
    );
}

#[test]
fn an_acknowledged_write_that_is_gone_is_found() {
    check(
        &[
            (1, (0, 10), Committed, &[], &[(1, 1)]),
            (2, (20, 30), Committed, &[(1, &[1])], &[(1, 2)]),
            (3, (40, 50), Committed, &[(1, &[1])], &[]),
        ],
        &["G-single-item-realtime"],
    );
}
