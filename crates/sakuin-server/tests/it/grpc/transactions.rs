//! Commits with preconditions.

use wire::{precondition::Precondition, write::Write};

use super::*;

fn writes(writes: Vec<Write>) -> Vec<wire::Write> {
    writes.into_iter().map(|write| wire::Write { write: Some(write) }).collect()
}

fn set(id: u64, to: i64) -> Write {
    let record = Some(record(&feature(id), [("value", Kind::Int(to))]));
    Write::Update(wire::UpdateWrite { record, update_mask: None })
}

fn was(name: String, version: u64) -> wire::Precondition {
    let record = wire::RecordPrecondition { name, version };
    wire::Precondition { precondition: Some(Precondition::Record(record)) }
}

fn found(filter: &str, snapshot: u64) -> wire::Precondition {
    let (parent, filter) = (FEATURES.to_owned(), filter.to_owned());
    let search = wire::SearchPrecondition { parent, filter, snapshot };
    wire::Precondition { precondition: Some(Precondition::Search(search)) }
}

impl Served {
    fn commit(
        &self,
        writes: Vec<wire::Write>,
        preconditions: Vec<wire::Precondition>,
    ) -> Result<Response<wire::CommitResponse>, Status> {
        let request = wire::CommitRequest { writes, preconditions, ..Default::default() };
        self.wait(self.live().commit(request))
    }
}

#[test]
fn a_commit_writes_all_of_it() {
    let served = Served::with(&[1, 2, 2]);
    let create = |balance| {
        let record = Some(record("", [("balance", Kind::Int(balance))]));
        Write::Create(wire::CreateWrite { parent: "tables/accounts".to_owned(), record })
    };
    let delete = Write::Delete(wire::DeleteWrite { name: feature(1), ..Default::default() });
    let update = Write::UpdateWhere(wire::UpdateWhereWrite {
        parent: FEATURES.to_owned(),
        filter: "value = 2".to_owned(),
        assignments: vec![wire::Assignment {
            attribute: "value".to_owned(),
            to: Some(wire::assignment::To::Add(value(Kind::Int(1)))),
        }],
    });
    let all = writes(vec![create(10), delete, create(20), update]);
    let done = served.commit(all, vec![was(feature(1), 1), was(feature(9), 0)]).unwrap();
    let done = done.into_inner();
    assert_eq!((done.ids, done.matched, done.snapshot), (vec![1, 2], vec![2, 3], 4));
    assert_eq!((served.value(2), served.value(3)), (Some(3), Some(3)));
    assert_eq!(served.get("tables/accounts/records/2").version, 4);
}

#[test]
fn what_was_read_must_be_as_it_was() {
    let served = Served::with(&[1, 2]);
    served.commit(writes(vec![set(1, 5)]), vec![]).unwrap();
    let conflict = |preconditions| {
        let outcome = served.commit(writes(vec![set(2, 9)]), preconditions);
        let details = refused(outcome, Code::Aborted, "CONFLICT");
        assert_eq!(details.error_info().unwrap().metadata["retry_at"], "3");
        assert!(details.retry_info().is_some());
        let violations = details.precondition_failure().unwrap().violations.iter();
        violations
            .map(|it| (it.r#type.clone(), it.subject.clone(), it.description.clone()))
            .collect()
    };
    let is = |found: Vec<(String, String, String)>, wanted: [&str; 3]| {
        let [of, subject, now] = wanted.map(str::to_owned);
        assert_eq!(found, [(of, subject, now)]);
    };
    is(conflict(vec![was(feature(1), 1)]), ["RECORD", &feature(1), "its version is 3"]);
    is(conflict(vec![was(feature(9), 1)]), ["RECORD", &feature(9), "it is not there"]);
    is(conflict(vec![was(feature(2), 0)]), ["RECORD", &feature(2), "its version is 2"]);
    // A record that has left a search, and one that has come.
    is(conflict(vec![found("value = 1", 2)]), ["SEARCH", "0", "its answer is another"]);
    is(
        conflict(vec![found("value=7", 2), found("value = 5", 2)]),
        ["SEARCH", "1", "its answer is another"],
    );
    assert_eq!(served.value(2), Some(2));
    let same = vec![was(feature(1), 3), found("value = 5", 3), found("value = 7", 0)];
    served.commit(writes(vec![set(2, 9)]), same).unwrap();
    assert_eq!(served.value(2), Some(9));
    // Without writes, the preconditions are checked all the same.
    assert_eq!(served.commit(vec![], vec![was(feature(2), 4)]).unwrap().into_inner().snapshot, 4);
    refused(served.commit(vec![], vec![was(feature(2), 2)]), Code::Aborted, "CONFLICT");
}

#[test]
fn a_deleted_record_that_is_expected_is_a_conflict() {
    let served = Served::with(&[1]);
    let name = feature(1);
    served.ask(served.live().delete(wire::DeleteRequest { name, ..Default::default() }));
    let outcome = served.commit(writes(vec![set(1, 5)]), vec![was(feature(1), 1)]);
    refused(outcome, Code::Aborted, "CONFLICT");
    refused(served.commit(writes(vec![set(1, 5)]), vec![]), Code::NotFound, "RECORD_NOT_FOUND");
}

#[test]
fn nothing_of_a_refused_commit_is_written() {
    let served = Served::with(&[1, 2]);
    let bad = Write::Update(wire::UpdateWrite {
        record: Some(record(&feature(2), [("weight", Kind::Float(f64::INFINITY))])),
        update_mask: None,
    });
    let outcome = served.commit(writes(vec![set(1, 5), bad]), vec![]);
    refused(outcome, Code::InvalidArgument, "INVALID_FIELD");
    let outcome = served.commit(writes(vec![set(1, 5), set(9, 5)]), vec![]);
    refused(outcome, Code::NotFound, "RECORD_NOT_FOUND");
    let outcome = served.commit(vec![wire::Write::default()], vec![]);
    refused(outcome, Code::InvalidArgument, "INVALID_FIELD");
    let outcome = served.commit(vec![], vec![was(feature(1), 1), was(feature(1), 2)]);
    refused(outcome, Code::InvalidArgument, "INVALID_FIELD");
    let many = writes(
        (0..10_001)
            .map(|at| {
                let record = Some(record("", [("value", Kind::Int(at))]));
                Write::Create(wire::CreateWrite { parent: FEATURES.to_owned(), record })
            })
            .collect(),
    );
    refused(served.commit(many, vec![]), Code::InvalidArgument, "TOO_LARGE");
    assert_eq!(served.get(&feature(1)).version, 1);
}

#[test]
fn validation_writes_nothing() {
    let served = Served::with(&[1]);
    let validate = |write, version| {
        let request = wire::CommitRequest {
            writes: writes(vec![write]),
            preconditions: vec![was(feature(1), version)],
            validate_only: true,
            ..Default::default()
        };
        served.wait(served.live().commit(request))
    };
    assert_eq!(validate(set(1, 5), 1).unwrap().into_inner().snapshot, 1);
    refused(validate(set(1, 5), 7), Code::Aborted, "CONFLICT");
    refused(validate(set(2, 5), 1), Code::NotFound, "RECORD_NOT_FOUND");
    assert_eq!(served.value(1), Some(1));
}

#[test]
fn a_request_that_is_sent_again_is_answered_as_the_first_time() {
    let served = Served::with(&[1, 2]);
    let request_id = || "ten".to_owned();
    let create = || {
        let request = wire::CreateRequest {
            parent: FEATURES.to_owned(),
            record: Some(record("", [("value", Kind::Int(3))])),
            request_id: request_id(),
        };
        served.ask(served.live().create(request))
    };
    assert_eq!(create(), create());
    // Deleted by the first sending, so that the second could not even be built.
    let delete = || {
        let request = wire::DeleteRequest {
            name: feature(2),
            request_id: "del".to_owned(),
            ..Default::default()
        };
        served.ask(served.live().delete(request))
    };
    assert_eq!(delete(), delete());
    let mut first = record(&feature(1), [("value", Kind::Int(9))]);
    first.etag = "\"1\"".to_owned();
    let update = || {
        let request = wire::UpdateRequest {
            record: Some(first.clone()),
            request_id: "upd".to_owned(),
            ..Default::default()
        };
        served.ask(served.live().update(request))
    };
    assert_eq!(update(), update());
    let request_id = "x".repeat(129);
    let request = wire::DeleteRequest { name: feature(1), request_id, ..Default::default() };
    refused(served.wait(served.live().delete(request)), Code::InvalidArgument, "INVALID_FIELD");
}

/// Money is moved at random between a few accounts by several clients at once, who read two accounts and write them
/// back if nobody else did: none is made, none is lost, and every transfer is there once.
#[test]
fn transfers_lose_no_money() {
    const ACCOUNTS: u64 = 5;
    const CLIENTS: u64 = 6;
    const TRANSFERS: u64 = 60;
    let served = Served::start();
    let account = |id: u64| format!("tables/accounts/records/{id}");
    for _ in 0..ACCOUNTS {
        let request = wire::CreateRequest {
            parent: "tables/accounts".to_owned(),
            record: Some(record("", [("balance", Kind::Int(100))])),
            ..Default::default()
        };
        served.ask(served.live().create(request));
    }
    let balance = |record: &wire::Record| match record.values["balance"].kind {
        Some(Kind::Int(balance)) => balance,
        _ => panic!("{record:?}"),
    };
    let work = (1..=CLIENTS).map(|client| {
        let mut live = served.live();
        async move {
            let mut conflicts = 0;
            for at in 0..TRANSFERS {
                let from = (at * client + client) % ACCOUNTS + 1;
                let to = (from + at % (ACCOUNTS - 1)) % ACCOUNTS + 1;
                loop {
                    let names = vec![account(from), account(to)];
                    let read = live.batch_get(wire::BatchGetRequest { names }).await.unwrap();
                    let read = read.into_inner().records;
                    let moved = [balance(&read[0]) - 1, balance(&read[1]) + 1];
                    let request = wire::CommitRequest {
                        writes: writes(
                            read.iter()
                                .zip(moved)
                                .map(|(read, moved)| {
                                    let record =
                                        record(&read.name, [("balance", Kind::Int(moved))]);
                                    let record = Some(record);
                                    Write::Update(wire::UpdateWrite { record, update_mask: None })
                                })
                                .collect(),
                        ),
                        preconditions: read
                            .iter()
                            .map(|it| was(it.name.clone(), it.version))
                            .collect(),
                        ..Default::default()
                    };
                    match live.commit(request).await {
                        Ok(_) => break,
                        Err(status) => {
                            of_status(&status, Code::Aborted, "CONFLICT");
                            conflicts += 1;
                        }
                    }
                }
            }
            conflicts
        }
    });
    let conflicts: u64 = served.wait(futures_util::future::join_all(work)).into_iter().sum();
    let request = wire::ListRequest { parent: "tables/accounts".to_owned(), ..Default::default() };
    let list = served.ask(served.live().list(request));
    assert_eq!(list.records.iter().map(balance).sum::<i64>(), 100 * ACCOUNTS as i64);
    assert_eq!(list.snapshot, ACCOUNTS + CLIENTS * TRANSFERS);
    assert!(conflicts > 0, "nobody met anybody: the test shows nothing");
}

#[test]
fn updates_without_a_condition_do_not_conflict() {
    let served = Served::with(&[0]);
    let work = (0..8).map(|client| {
        let mut live = served.live();
        async move {
            for at in 0..20 {
                let record = record(&feature(1), [("value", Kind::Int(client * 100 + at))]);
                let request = wire::UpdateRequest { record: Some(record), ..Default::default() };
                live.update(request).await.unwrap();
            }
        }
    });
    served.wait(futures_util::future::join_all(work));
    assert_eq!(served.get(&feature(1)).version, 161);
}
