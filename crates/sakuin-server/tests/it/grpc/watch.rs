//! Streams of commits.

use prost_types::Duration;
use tonic::Streaming;

use super::*;

impl Served {
    fn watch(&self, request: wire::WatchRequest) -> Streaming<wire::WatchResponse> {
        self.ask(self.live().watch(request))
    }

    fn next(&self, stream: &mut Streaming<wire::WatchResponse>) -> wire::WatchResponse {
        self.wait(stream.message()).unwrap().expect("the stream goes on")
    }
}

fn from(snapshot: u64) -> wire::WatchRequest {
    wire::WatchRequest { snapshot: Some(snapshot), ..Default::default() }
}

/// The snapshot of a message, and the values of its changes.
fn told(response: &wire::WatchResponse) -> (u64, Vec<(u64, Option<i64>)>) {
    let changes = response.changes.iter().map(|change| {
        let id = change.name.rsplit('/').next().unwrap().parse().unwrap();
        let value = change.record.as_ref().map(|record| match record.values["value"].kind {
            Some(Kind::Int(value)) => value,
            _ => panic!("{record:?}"),
        });
        (id, value)
    });
    (response.snapshot, changes.collect())
}

#[test]
fn commits_are_told_as_they_happen_and_again_from_any_snapshot() {
    let served = Served::with(&[1, 2]);
    let mut stream = served.watch(wire::WatchRequest::default());
    assert_eq!(told(&served.next(&mut stream)), (2, vec![]));
    served.create([("value", Kind::Int(3))]);
    assert_eq!(told(&served.next(&mut stream)), (3, vec![(3, Some(3))]));
    let delete = wire::DeleteRequest { name: feature(1), ..Default::default() };
    served.ask(served.live().delete(delete));
    assert_eq!(told(&served.next(&mut stream)), (4, vec![(1, None)]));
    drop(stream);
    served.create([("value", Kind::Int(4))]);
    // A connection later, everything since is there once and in order.
    let mut stream = served.watch(from(2));
    let all: Vec<_> = (0..4).map(|_| told(&served.next(&mut stream))).collect();
    let wanted =
        [(2, vec![]), (3, vec![(3, Some(3))]), (4, vec![(1, None)]), (5, vec![(4, Some(4))])];
    assert_eq!(all, wanted);
    assert_eq!(told(&served.next(&mut served.watch(from(5)))), (5, vec![]));
}

#[test]
fn a_filter_tells_what_it_wants_and_what_has_left() {
    let served = Served::with(&[1]);
    let mut stream = served.watch(wire::WatchRequest {
        parent: FEATURES.to_owned(),
        filter: "value >= 10".to_owned(),
        ..Default::default()
    });
    served.next(&mut stream);
    let request = wire::CreateRequest {
        parent: "tables/accounts".to_owned(),
        record: Some(record("", [("balance", Kind::Int(100))])),
        ..Default::default()
    };
    served.ask(served.live().create(request));
    served.create([("value", Kind::Int(10))]);
    assert_eq!(told(&served.next(&mut stream)), (3, vec![(2, Some(10))]));
    let record = Some(record(&feature(2), [("value", Kind::Int(9))]));
    let request = wire::UpdateRequest { record, ..Default::default() };
    served.ask(served.live().update(request));
    assert_eq!(told(&served.next(&mut stream)), (4, vec![(2, None)]));
}

#[test]
fn silence_is_broken_by_heartbeats() {
    let served = Served::with(&[1]);
    let heartbeat = Some(Duration { seconds: 1, nanos: 0 });
    let mut stream = served.watch(wire::WatchRequest { heartbeat, ..Default::default() });
    assert_eq!(told(&served.next(&mut stream)), (1, vec![]));
    assert_eq!(told(&served.next(&mut stream)), (1, vec![]));
    let heartbeat = Some(Duration { seconds: 0, nanos: 1 });
    let request = wire::WatchRequest { heartbeat, ..Default::default() };
    refused(served.wait(served.live().watch(request)), Code::InvalidArgument, "INVALID_FIELD");
}

#[test]
fn a_large_commit_is_told_in_parts() {
    let served = Served::start();
    let mut stream = served.watch(from(0));
    served.next(&mut stream);
    let long = "x".repeat(700 << 10);
    let create = || {
        let record = Some(record("", [("name", Kind::Text(long.clone()))]));
        let write = wire::CreateWrite { parent: FEATURES.to_owned(), record };
        wire::Write { write: Some(wire::write::Write::Create(write)) }
    };
    let writes = (0..5).map(|_| create()).collect();
    served.ask(served.live().commit(wire::CommitRequest { writes, ..Default::default() }));
    let (first, second) = (served.next(&mut stream), served.next(&mut stream));
    assert_eq!((first.snapshot, first.continues, first.changes.len()), (1, true, 3));
    assert_eq!((second.snapshot, second.continues, second.changes.len()), (1, false, 2));
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let served = Served::with(&[1]);
    let refusal = |request, code, reason: &str| {
        let outcome = served.wait(async {
            let mut stream = served.live().watch(request).await?.into_inner();
            stream.message().await
        });
        of_status(&outcome.expect_err("it is refused"), code, reason)
    };
    refusal(from(2), Code::InvalidArgument, "INVALID_FIELD");
    let request = wire::WatchRequest { filter: "value = 1".to_owned(), ..Default::default() };
    refusal(request, Code::InvalidArgument, "INVALID_FIELD");
    let request = wire::WatchRequest { parent: "tables/none".to_owned(), ..Default::default() };
    refusal(request, Code::NotFound, "TABLE_NOT_FOUND");
}

/// Readers that begin before, amid and after a crowd of writers all come to see the same commits without a gap.
#[test]
fn every_reader_sees_every_commit_in_order() {
    const COMMITS: u64 = 400;
    let served = Served::start();
    let writers = (0..4).map(|_| {
        let mut live = served.live();
        async move {
            for at in 0..COMMITS / 4 {
                let request = wire::CreateRequest {
                    parent: FEATURES.to_owned(),
                    record: Some(record("", [("value", Kind::Int(at as i64))])),
                    ..Default::default()
                };
                live.create(request).await.unwrap();
            }
        }
    });
    let readers = (0..3).map(|_| {
        let mut live = served.live();
        async move {
            let mut stream = live.watch(from(0)).await.unwrap().into_inner();
            let mut seen = 0;
            while seen < COMMITS {
                let response = stream.message().await.unwrap().unwrap();
                assert_eq!(response.snapshot, seen + response.changes.len() as u64);
                seen = response.snapshot;
            }
        }
    });
    use futures_util::future::{join, join_all};
    served.wait(join(join_all(writers), join_all(readers)));
}
