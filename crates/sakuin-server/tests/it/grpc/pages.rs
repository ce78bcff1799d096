//! Lists and searches page by page.

use super::*;

impl Served {
    fn list(
        &self,
        filter: &str,
        page_size: i32,
        token: &str,
    ) -> Result<Response<wire::ListResponse>, Status> {
        let request = wire::ListRequest {
            parent: FEATURES.to_owned(),
            filter: filter.to_owned(),
            page_size,
            page_token: token.to_owned(),
            ..Default::default()
        };
        self.wait(self.live().list(request))
    }

    fn search(
        &self,
        filter: &str,
        page_size: i32,
        token: &str,
        ids_only: bool,
    ) -> wire::SearchResponse {
        let request = wire::SearchRequest {
            parent: FEATURES.to_owned(),
            filter: filter.to_owned(),
            page_size,
            page_token: token.to_owned(),
            ids_only,
        };
        self.ask(self.live().search(request))
    }
}

fn ids(records: &[wire::Record]) -> Vec<u64> {
    records.iter().map(|record| record.id).collect()
}

#[test]
fn pages_show_one_snapshot_whatever_is_written_meanwhile() {
    let served = Served::with(&[1, 2, 1, 2, 1]);
    for (filter, wanted) in
        [("", vec![1, 2, 3, 4, 5]), ("value = 1", vec![1, 3, 5]), ("value < 2", vec![1, 3, 5])]
    {
        let served = Served::with(&[1, 2, 1, 2, 1]);
        let first = served.list(filter, 1, "").unwrap().into_inner();
        let (mut found, mut token) = (ids(&first.records), first.next_page_token);
        for change in 0.. {
            if token.is_empty() {
                break;
            }
            match change {
                0 => drop(served.create([("value", Kind::Int(1))])),
                1 => {
                    let request = wire::DeleteRequest { name: feature(5), ..Default::default() };
                    served.ask(served.live().delete(request));
                }
                _ => {}
            }
            let next = served.list(filter, 1, &token).unwrap().into_inner();
            assert_eq!((next.snapshot, next.records.len()), (5, 1));
            found.extend(ids(&next.records));
            token = next.next_page_token;
        }
        assert_eq!(found, wanted, "{filter}");
    }
    assert_eq!(served.list("", 0, "").unwrap().into_inner().next_page_token, "");
}

#[test]
fn a_search_answers_records_or_ids() {
    let served = Served::with(&[7, 8, 7]);
    let found = served.search("value = 7", 0, "", false);
    assert_eq!((ids(&found.records), found.ids, found.snapshot), (vec![1, 3], vec![], 3));
    assert_eq!(found.records[1].values["value"], value(Kind::Int(7)));
    let found = served.search("value = 7", 1, "", true);
    assert_eq!((found.records.len(), &*found.ids), (0, &[1][..]));
    let found = served.search("value = 7", 1, &found.next_page_token, true);
    assert_eq!((&*found.ids, &*found.next_page_token), (&[3][..], ""));
    assert_eq!(served.search("", 0, "", true).ids, [1, 2, 3]);
    assert_eq!(served.search("value = 9", 0, "", false).records, []);
    assert!(served.search("weight:*", 0, "", false).records.is_empty());
    assert_eq!(ids(&served.search("NOT weight:* AND value > 7", 0, "", false).records), [2]);
}

#[test]
fn tokens_hold_for_their_question_alone() {
    let served = Served::with(&[1, 1, 2]);
    let token = served.list("value = 1", 1, "").unwrap().into_inner().next_page_token;
    let refusal = |filter: &str, token: &str, reason: &str| {
        let code = match reason {
            "SNAPSHOT_EXPIRED" => Code::FailedPrecondition,
            _ => Code::InvalidArgument,
        };
        refused(served.list(filter, 1, token), code, reason)
    };
    assert_eq!(blamed(&refusal("value = 2", &token, "INVALID_PAGE_TOKEN")).0, "page_token");
    refusal("value = 1", "x", "INVALID_PAGE_TOKEN");
    refusal("value = 1", &token[1..], "INVALID_PAGE_TOKEN");
    // A token of a snapshot that this server does not keep.
    let other = Served::with(&[1, 1, 1, 1]);
    let foreign = other.list("value = 1", 1, "").unwrap().into_inner().next_page_token;
    let details = refusal("value = 1", &foreign, "SNAPSHOT_EXPIRED");
    assert_eq!(details.error_info().unwrap().metadata["snapshot"], "4");
    assert_eq!(ids(&served.list("value = 1", 1, &token).unwrap().into_inner().records), [2]);
}

#[test]
fn sizes_and_orders_are_checked() {
    let served = Served::with(&[1]);
    refused(served.list("", -1, ""), Code::InvalidArgument, "INVALID_FIELD");
    assert_eq!(served.list("", i32::MAX, "").unwrap().into_inner().records.len(), 1);
    let list = |order_by: &str| {
        let (parent, order_by) = (FEATURES.to_owned(), order_by.to_owned());
        let request = wire::ListRequest { parent, order_by, ..Default::default() };
        served.wait(served.live().list(request))
    };
    list("id asc").unwrap();
    assert_eq!(
        blamed(&refused(list("value"), Code::InvalidArgument, "INVALID_FIELD")).0,
        "order_by"
    );
    let details =
        refused(served.list("value = 1 OR", 0, ""), Code::InvalidArgument, "INVALID_FILTER");
    assert_eq!(details.error_info().unwrap().metadata["position"], "10");
}

/// A page ends where a message does, whatever was asked for, and the pages together have everything.
#[test]
fn pages_fit_in_a_message() {
    let served = Served::start();
    let long = "x".repeat(1 << 20);
    for _ in 0..9 {
        served.create([("name", Kind::Text(long.clone()))]);
    }
    let (mut found, mut token, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = served.list("", 1000, &token).unwrap().into_inner();
        found.extend(ids(&page.records));
        token = page.next_page_token;
        pages += 1;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!((found, pages), ((1..=9).collect(), 3));
    let names = (1..=4).map(feature).collect();
    let outcome = served.wait(served.live().batch_get(wire::BatchGetRequest { names }));
    let details = refused(outcome, Code::ResourceExhausted, "ANSWER_TOO_LARGE");
    assert!(details.quota_failure().is_some());
}
