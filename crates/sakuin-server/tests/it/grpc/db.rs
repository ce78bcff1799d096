//! The service of old: what its clients rely on.

use sakuin_grpc::db::{Indexes, Record, Records, Value, Values};

use super::*;

impl Served {
    fn add(&self, values: &[i32]) {
        self.ask(self.db().add(Values { values: values.to_vec() }));
    }

    fn found(&self, value: i32) -> Vec<i32> {
        let records = self.ask(self.db().search(Value { value })).records;
        assert!(records.iter().all(|record| record.value == value));
        records.iter().map(|record| record.index).collect()
    }

    fn rewrite(&self, records: &[(i32, i32)]) -> Result<Response<()>, Status> {
        let records = records.iter().map(|&(index, value)| Record { index, value }).collect();
        self.wait(self.db().update(Records { records }))
    }

    fn remove(&self, indexes: &[i32]) -> Result<Response<()>, Status> {
        self.wait(self.db().delete(Indexes { indexes: indexes.to_vec() }))
    }
}

#[test]
fn values_are_added_found_updated_and_deleted() {
    let served = Served::start();
    served.add(&[5, 6, 5]);
    served.add(&[]);
    assert_eq!((served.found(5), served.found(6), served.found(7)), (vec![0, 2], vec![1], vec![]));
    served.rewrite(&[(0, 7), (1, 7), (0, 8)]).unwrap();
    assert_eq!((served.found(8), served.found(7), served.found(5)), (vec![0], vec![1], vec![2]));
    served.remove(&[0, 2]).unwrap();
    // Nothing shifts, and no index is given twice.
    assert_eq!((served.found(7), served.found(8), served.found(5)), (vec![1], vec![], vec![]));
    served.add(&[-1, i32::MIN]);
    assert_eq!((served.found(-1), served.found(i32::MIN)), (vec![3], vec![4]));
}

#[test]
fn an_unknown_index_is_named_and_nothing_is_applied() {
    let served = Served::start();
    served.add(&[5, 6]);
    let check = |outcome, index: &str| {
        let status = refused::<()>(outcome, Code::NotFound, "INDEX_NOT_FOUND");
        assert_eq!(status.error_info().unwrap().metadata["index"], index);
    };
    check(served.rewrite(&[(0, 9), (2, 9), (7, 9)]), "2");
    check(served.rewrite(&[(0, 9), (-1, 9)]), "-1");
    check(served.remove(&[1, i32::MAX]), "2147483647");
    check(served.remove(&[1, 1]), "1");
    assert_eq!((served.found(5), served.found(6), served.found(9)), (vec![0], vec![1], vec![]));
}

/// Here a search is whole or refused, and the newer service gives it page by page.
#[test]
fn a_million_results_are_refused_or_paged() {
    let served = Served::start();
    for _ in 0..100 {
        served.add(&[1; 10_000]);
    }
    let details = refused(
        served.wait(served.db().search(Value { value: 1 })),
        Code::ResourceExhausted,
        "ANSWER_TOO_LARGE",
    );
    assert!(details.quota_failure().is_some());
    served.add(&[2; 10_000]);
    assert_eq!(served.found(2).len(), 10_000);

    let (mut next, mut token) = (1, String::new());
    loop {
        let request = wire::SearchRequest {
            parent: FEATURES.to_owned(),
            filter: "value = 1".to_owned(),
            page_size: i32::MAX,
            page_token: token,
            ids_only: true,
        };
        let page = served.ask(served.live().search(request));
        assert!(page.ids.iter().copied().eq(next..next + page.ids.len() as u64));
        next += page.ids.len() as u64;
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(next, 1_000_001);
}

#[test]
fn updates_of_many_clients_are_all_applied() {
    let served = Served::start();
    served.add(&[0; 40]);
    let work = (0..8).map(|client: i32| {
        let mut db = served.db();
        async move {
            for at in 0..20 {
                let records = [(client, at), (39 - client, at), (20, client)];
                let records =
                    records.iter().map(|&(index, value)| Record { index, value }).collect();
                db.update(Records { records }).await.unwrap();
            }
        }
    });
    served.wait(futures_util::future::join_all(work));
    assert_eq!(served.found(19).len(), 16);
}
