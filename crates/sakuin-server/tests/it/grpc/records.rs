//! Records one after another.

use super::*;

#[test]
fn a_record_of_every_type_comes_back_as_it_was() {
    let served = Served::start();
    let moment = prost_types::Timestamp { seconds: -1, nanos: 999_999_000 };
    let sent = record(
        "",
        [
            ("value", Kind::Int(i64::MIN)),
            ("weight", Kind::Float(-0.5)),
            ("name", Kind::Text("索引".to_owned())),
            ("seen", Kind::Bool(true)),
            ("at", Kind::Time(moment)),
            ("raw", Kind::Bytes(vec![0, 255].into())),
            ("vector", vector(&[0.5, -1.0])),
        ],
    );
    let request = wire::CreateRequest {
        parent: FEATURES.to_owned(),
        record: Some(sent.clone()),
        ..Default::default()
    };
    let created = served.ask(served.live().create(request));
    let name = "tables/features/records/1";
    let written = created.record.clone().unwrap();
    assert_eq!((written.name.as_str(), written.id, written.version), (name, 1, 1));
    assert_eq!((created.snapshot, created.durability()), (1, wire::Durability::None));
    let wanted =
        wire::Record { name: name.to_owned(), etag: "\"1\"".to_owned(), id: 1, version: 1, ..sent };
    let request = wire::GetRequest { name: name.to_owned() };
    let wanted = wire::GetResponse { record: Some(wanted), snapshot: 1 };
    assert_eq!(served.ask(served.live().get(request)), wanted);
}

#[test]
fn packed_vectors_are_vectors() {
    let served = Served::start();
    let bytes = [1.5f32, 2.0].iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let created = served.create([("vector", Kind::PackedVector(bytes.into()))]);
    assert_eq!(served.get(&created.name).values["vector"], value(vector(&[1.5, 2.0])));
}

#[test]
fn updates_change_what_their_mask_names() {
    let served = Served::start();
    let name = served.create([("value", Kind::Int(1)), ("seen", Kind::Bool(true))]).name;
    let update = |values, update_mask| {
        let request =
            wire::UpdateRequest { record: Some(values), update_mask, ..Default::default() };
        served.ask(served.live().update(request));
        let values = served.get(&name).values.into_iter();
        values.map(|(name, value)| (name, value.kind.unwrap())).collect::<Vec<_>>()
    };
    let is = |values: Vec<(String, Kind)>, wanted: &[(&str, Kind)]| {
        let values: Vec<_> =
            values.iter().map(|(name, kind)| (name.as_str(), kind.clone())).collect();
        assert_eq!(values, wanted);
    };
    let three = || record(&name, [("value", Kind::Int(3)), ("name", Kind::Text("x".to_owned()))]);
    is(
        update(record(&name, [("value", Kind::Int(2))]), None),
        &[("seen", Kind::Bool(true)), ("value", Kind::Int(2))],
    );
    is(update(three(), mask(&["values.value", "seen"])), &[("value", Kind::Int(3))]);
    is(
        update(record(&name, [("weight", Kind::Float(1.0))]), mask(&["*"])),
        &[("weight", Kind::Float(1.0))],
    );
    // A value without a kind is none.
    let mut without = three();
    without.values.insert("weight".to_owned(), wire::Value { kind: None });
    is(update(without, None), &[("name", Kind::Text("x".to_owned())), ("value", Kind::Int(3))]);
}

#[test]
fn etags_guard_updates_and_deletes() {
    let served = Served::with(&[1]);
    let mut first = record(&feature(1), [("value", Kind::Int(2))]);
    first.etag = "\"1\"".to_owned();
    let request = wire::UpdateRequest { record: Some(first), ..Default::default() };
    let updated = served.ask(served.live().update(request.clone())).record.unwrap();
    assert_eq!(updated.etag, "\"2\"");
    let details =
        refused(served.wait(served.live().update(request)), Code::Aborted, "ETAG_MISMATCH");
    let failure = &details.precondition_failure().unwrap().violations[0];
    assert_eq!((failure.r#type.as_str(), failure.subject.as_str()), ("RECORD", &*feature(1)));
    assert_eq!(failure.description, "its version is 2");
    assert!(details.retry_info().is_some());

    let delete = |etag: &str| {
        let (name, etag) = (feature(1), etag.to_owned());
        let request = wire::DeleteRequest { name, etag, ..Default::default() };
        served.wait(served.live().delete(request))
    };
    refused(delete("\"1\""), Code::Aborted, "ETAG_MISMATCH");
    refused(delete("1"), Code::InvalidArgument, "INVALID_FIELD");
    assert_eq!(delete("\"2\"").unwrap().into_inner().snapshot, 3);
    refused(delete("\"2\""), Code::Aborted, "ETAG_MISMATCH");
    let details = refused(delete(""), Code::NotFound, "RECORD_NOT_FOUND");
    let resource = details.resource_info().unwrap();
    assert_eq!(resource.resource_name, feature(1));
}

#[test]
fn what_cannot_be_is_refused_with_field_and_cure() {
    let served = Served::with(&[1]);
    let check = |values: wire::Record, field: &str, cure: &str| {
        let request = wire::CreateRequest {
            parent: FEATURES.to_owned(),
            record: Some(values),
            ..Default::default()
        };
        let outcome = served.wait(served.live().create(request));
        let details = refused(outcome, Code::InvalidArgument, "INVALID_FIELD");
        let (blamed, described) = blamed(&details);
        assert_eq!(blamed, field, "{described}");
        assert!(described.contains(cure), "{described}");
    };
    let text = || Kind::Text("7".to_owned());
    check(record("", [("value", text())]), "values.value", "int");
    check(record("", [("vaule", Kind::Int(1))]), "values.vaule", "value, weight");
    check(record("", [("weight", Kind::Float(f64::NAN))]), "values.weight", "finite");
    check(record("", [("vector", vector(&[1.0]))]), "vector", "2 numbers");
    check(record("", [("vector", vector(&[f32::NAN, 0.0]))]), "values.vector", "finite");
    check(
        record("", [("vector", Kind::PackedVector(vec![0; 7].into()))]),
        "values.vector",
        "little-endian",
    );
    let moment = prost_types::Timestamp { seconds: 0, nanos: 1 };
    check(record("", [("at", Kind::Time(moment))]), "values.at", "thousands");
    assert_eq!(served.ask(served.live().get(wire::GetRequest { name: feature(1) })).snapshot, 1);
}

#[test]
fn names_are_read_strictly() {
    let served = Served::with(&[1]);
    let get =
        |name: &str| served.wait(served.live().get(wire::GetRequest { name: name.to_owned() }));
    for name in [
        "",
        "1",
        "tables/features",
        "tables/features/records/",
        "tables/features/records/x",
        "tables/features/records/+1",
        "tables/a/b/records/1",
        "tables/features/records/1/",
    ] {
        refused(get(name), Code::InvalidArgument, "INVALID_FIELD");
    }
    let long = format!("tables/{}/records/1", "索".repeat(1 << 20));
    let details = refused(get(&long), Code::NotFound, "TABLE_NOT_FOUND");
    assert!(details.resource_info().unwrap().resource_name.len() < 600, "it travels in a header");
    refused(get("tables/features/records/2"), Code::NotFound, "RECORD_NOT_FOUND");
    refused(
        get("tables/features/records/18446744073709551615"),
        Code::NotFound,
        "RECORD_NOT_FOUND",
    );
    refused(get("tables/other/records/1"), Code::NotFound, "TABLE_NOT_FOUND");
}

#[test]
fn a_batch_is_of_one_snapshot_and_says_what_is_missing() {
    let served = Served::with(&[5, 6]);
    let names = vec![feature(2), feature(9), feature(1)];
    let batch = served.ask(served.live().batch_get(wire::BatchGetRequest { names }));
    let ids: Vec<_> = batch.records.iter().map(|record| record.id).collect();
    assert_eq!((ids, batch.missing, batch.snapshot), (vec![2, 1], vec![feature(9)], 2));
    let names = (0..1001).map(feature).collect();
    let outcome = served.wait(served.live().batch_get(wire::BatchGetRequest { names }));
    refused(outcome, Code::InvalidArgument, "TOO_LARGE");
}

#[test]
fn update_where_changes_what_a_filter_wants() {
    let served = Served::with(&[5, 6, 5]);
    let update = |filter: &str, assignment| {
        let assignments =
            vec![wire::Assignment { attribute: "value".to_owned(), to: Some(assignment) }];
        let (parent, filter) = (FEATURES.to_owned(), filter.to_owned());
        let request =
            wire::UpdateWhereRequest { parent, filter, assignments, ..Default::default() };
        served.wait(served.live().update_where(request))
    };
    use wire::assignment::To;
    let changed = update("value = 5", To::Add(value(Kind::Int(10)))).unwrap().into_inner();
    assert_eq!((changed.ids, changed.snapshot), (vec![1, 3], 4));
    assert_eq!([1, 2, 3].map(|id| served.value(id)), [Some(15), Some(6), Some(15)]);
    update("value = 6", To::Clear(true)).unwrap();
    assert_eq!(served.value(2), None);
    let text = To::Set(value(Kind::Text("x".to_owned())));
    refused(update("", text), Code::InvalidArgument, "INVALID_FIELD");
    let details =
        refused(update("value == 5", To::Clear(true)), Code::InvalidArgument, "INVALID_FILTER");
    assert_eq!(details.error_info().unwrap().metadata["position"], "6");
    assert_eq!(blamed(&details).0, "filter");
    let most = To::Add(value(Kind::Int(i64::MAX)));
    refused(update("value = 15", most), Code::InvalidArgument, "INVALID_FIELD");
    assert_eq!(served.value(1), Some(15));
}

#[test]
fn the_nearest_records_are_found() {
    let served = Served::start();
    for (value, at) in [(1, [0.0, 0.0]), (2, [1.0, 0.0]), (2, [3.0, 4.0]), (1, [9.0, 9.0])] {
        served.create([("value", Kind::Int(value)), ("vector", vector(&at))]);
    }
    let find = |at: &[f32], count, filter: &str| {
        let request = wire::FindNearestRequest {
            parent: FEATURES.to_owned(),
            vector: Some(value(vector(at))),
            count,
            filter: filter.to_owned(),
            names_only: true,
            ..Default::default()
        };
        served.wait(served.live().find_nearest(request))
    };
    let found = |outcome: Result<Response<wire::FindNearestResponse>, Status>| {
        let neighbors = outcome.unwrap().into_inner().neighbors.into_iter();
        neighbors.map(|it| (it.record.unwrap().id, it.score)).collect::<Vec<_>>()
    };
    assert_eq!(found(find(&[0.0, 0.0], 3, "")), [(1, 0.0), (2, 1.0), (3, 5.0)]);
    assert_eq!(found(find(&[0.0, 0.0], 1, "value = 2")), [(2, 1.0)]);
    let refusal = |outcome| refused(outcome, Code::InvalidArgument, "INVALID_FIELD");
    assert_eq!(blamed(&refusal(find(&[0.0], 3, ""))).0, "vector");
    refusal(find(&[0.0, f32::NAN], 3, ""));
    refusal(find(&[0.0, 0.0], -1, ""));
    refused(find(&[0.0, 0.0], 1001, ""), Code::InvalidArgument, "TOO_LARGE");
}
