//! Many operations in a message.

use futures_util::stream;
use wire::{operation::Operation, result};

use super::*;

fn operations(operations: Vec<Operation>) -> Vec<wire::Operation> {
    (10..).zip(operations).map(|(tag, it)| wire::Operation { tag, operation: Some(it) }).collect()
}

fn message(of: Vec<Operation>) -> wire::PipelineRequest {
    wire::PipelineRequest {
        table: "features".to_owned(),
        attributes: vec!["value".to_owned(), "name".to_owned()],
        operations: operations(of),
        ..Default::default()
    }
}

fn cell(attribute: u32, kind: Kind) -> wire::Cell {
    wire::Cell { attribute, value: Some(value(kind)) }
}

fn create(to: i64) -> Operation {
    Operation::Create(wire::CreateOperation { cells: vec![cell(0, Kind::Int(to))] })
}

fn assign(to: wire::cell_assignment::To) -> Vec<wire::CellAssignment> {
    vec![wire::CellAssignment { attribute: 0, to: Some(to) }]
}

fn add(id: u64, more: i64) -> Operation {
    let assignments = assign(wire::cell_assignment::To::Add(value(Kind::Int(more))));
    Operation::Update(wire::UpdateOperation { id, version: 0, assignments })
}

fn get(id: u64) -> Operation {
    Operation::Get(wire::GetOperation { id })
}

fn search(of: i64) -> Operation {
    let by = Some(wire::search_operation::By::Equal(cell(0, Kind::Int(of))));
    Operation::Search(wire::SearchOperation { by, ..Default::default() })
}

impl Served {
    fn pipeline(&self, messages: Vec<wire::PipelineRequest>) -> Vec<wire::PipelineResponse> {
        self.try_pipeline(messages).unwrap()
    }

    fn try_pipeline(
        &self,
        messages: Vec<wire::PipelineRequest>,
    ) -> Result<Vec<wire::PipelineResponse>, Status> {
        self.wait(async {
            let mut live = self.live();
            let mut answers = live.pipeline(stream::iter(messages)).await?.into_inner();
            let mut all = Vec::new();
            while let Some(answer) = answers.message().await? {
                all.push(answer);
            }
            Ok(all)
        })
    }
}

/// Results in a short form.
fn shown(response: &wire::PipelineResponse) -> Vec<String> {
    let shown = response.results.iter().zip(10..).map(|(result, tag)| {
        assert_eq!(result.tag, tag);
        match result.result.as_ref().unwrap() {
            result::Result::Row(row) => {
                let cells = row.cells.iter().map(|cell| {
                    format!(
                        "{}={:?}",
                        cell.attribute,
                        cell.value.as_ref().unwrap().kind.as_ref().unwrap()
                    )
                });
                format!("{}@{} {}", row.id, row.version, cells.collect::<Vec<_>>().join(" "))
            }
            result::Result::Ids(ids) => format!("{:?}{}", ids.ids, if ids.more { "…" } else { "" }),
            result::Result::Written(written) => format!("{}@{}", written.id, written.version),
            result::Result::Error(error) => error.reason.clone(),
            result::Result::Rows(rows) => format!("{} rows", rows.rows.len()),
            result::Result::Nearest(nearest) => format!("{:?} {:?}", nearest.ids, nearest.scores),
        }
    });
    shown.collect()
}

#[test]
fn operations_are_answered_in_order_and_see_the_writes_before_them() {
    let served = Served::start();
    let answers = served.pipeline(vec![
        message(vec![
            create(1),
            create(2),
            search(1),
            add(1, 5),
            get(1),
            add(1, 1),
            add(1, 1),
            search(8),
        ]),
        // The table and the attributes of the message before.
        wire::PipelineRequest { operations: operations(vec![get(1)]), ..Default::default() },
    ]);
    assert_eq!(
        shown(&answers[0]),
        ["1@1", "2@1", "[1]", "1@2", "1@2 0=Int(6)", "1@3", "1@3", "[1]"]
    );
    assert_eq!((answers[0].snapshot, answers[0].durability()), (3, wire::Durability::None));
    assert_eq!(shown(&answers[1]), ["1@3 0=Int(8)"]);
}

#[test]
fn each_operation_fails_by_itself() {
    let served = Served::with(&[5]);
    let delete = |id, version| Operation::Delete(wire::DeleteOperation { id, version });
    let bad = Operation::Create(wire::CreateOperation { cells: vec![cell(1, Kind::Int(1))] });
    let nowhere = Operation::Create(wire::CreateOperation { cells: vec![cell(2, Kind::Int(1))] });
    let answers = served.pipeline(vec![message(vec![
        create(6),
        bad,
        add(9, 1),
        delete(1, 7),
        nowhere,
        add(1, i64::MAX),
        add(1, 1),
        get(9),
        delete(2, 0),
        delete(2, 2),
        delete(2, 0),
        search(6),
    ])]);
    assert_eq!(
        shown(&answers[0]),
        [
            "2@2",
            "INVALID_FIELD",
            "RECORD_NOT_FOUND",
            "ETAG_MISMATCH",
            "INVALID_FIELD",
            "INVALID_FIELD",
            "1@2",
            "RECORD_NOT_FOUND",
            "2@3",
            "RECORD_NOT_FOUND",
            "RECORD_NOT_FOUND",
            "[1]",
        ]
    );
    let mut nothing = message(vec![]);
    nothing.operations.push(wire::Operation::default());
    let answers = served.pipeline(vec![nothing]);
    assert!(matches!(answers[0].results[0].result, Some(result::Result::Error(_))));
}

#[test]
fn searches_answer_rows_and_filters_work() {
    let served = Served::with(&[5, 6, 5, 5]);
    let search = |by, records, limit| {
        Operation::Search(wire::SearchOperation { by: Some(by), records, limit })
    };
    use wire::search_operation::By;
    let equal = || By::Equal(cell(0, Kind::Int(5)));
    let filter = |text: &str| By::Filter(text.to_owned());
    let update = wire::UpdateWhereOperation {
        by: Some(wire::update_where_operation::By::Filter("value < 6".to_owned())),
        assignments: assign(wire::cell_assignment::To::Set(value(Kind::Int(1)))),
    };
    let answers = served.pipeline(vec![message(vec![
        search(equal(), false, 2),
        search(equal(), true, 0),
        search(filter("value >= 6"), false, 0),
        search(filter("vaule = 1"), false, 0),
        search(equal(), true, 1001),
        Operation::UpdateWhere(update),
        search(filter("value = 1"), false, 0),
    ])]);
    assert_eq!(
        shown(&answers[0]),
        ["[1, 3]…", "3 rows", "[2]", "INVALID_FILTER", "TOO_LARGE", "[1, 3, 4]", "[1, 3, 4]",]
    );
}

#[test]
fn the_nearest_are_found() {
    let served = Served::start();
    for at in [[0.0, 0.0], [3.0, 4.0]] {
        served.create([("vector", vector(&at))]);
    }
    let near = |at: &[f32]| {
        let vector = Some(value(vector(at)));
        Operation::FindNearest(wire::FindNearestOperation {
            vector,
            count: 5,
            ..Default::default()
        })
    };
    let answers = served.pipeline(vec![message(vec![near(&[0.0, 0.0]), near(&[0.0])])]);
    assert_eq!(shown(&answers[0]), ["[1, 2] [0.0, 5.0]", "INVALID_FIELD"]);
}

#[test]
fn a_message_that_is_sent_again_writes_nothing() {
    let served = Served::start();
    let mut again = message(vec![create(1), create(2), search(1), create(3)]);
    again.request_id = "again".to_owned();
    let answers = served.pipeline(vec![again.clone(), again]);
    assert_eq!(shown(&answers[0]), ["1@1", "2@1", "[1]", "3@2"]);
    assert_eq!(shown(&answers[0]), shown(&answers[1]));
}

#[test]
fn a_stream_without_a_table_is_refused() {
    let served = Served::start();
    let refusal = |message: wire::PipelineRequest, code, reason: &str| {
        of_status(&served.try_pipeline(vec![message]).expect_err("it is refused"), code, reason)
    };
    refusal(wire::PipelineRequest::default(), Code::InvalidArgument, "INVALID_FIELD");
    let mut unknown = message(vec![]);
    unknown.attributes.push("vaule".to_owned());
    refusal(unknown, Code::InvalidArgument, "INVALID_FIELD");
    let mut elsewhere = message(vec![]);
    elsewhere.table = "none".to_owned();
    refusal(elsewhere, Code::NotFound, "TABLE_NOT_FOUND");
    let many = message((0..10_001).map(|_| get(1)).collect());
    refusal(many, Code::InvalidArgument, "TOO_LARGE");
}

#[test]
fn results_that_do_not_fit_in_a_message_come_in_several() {
    let served = Served::start();
    let name = Kind::Text("x".repeat(1 << 20));
    served.create([("name", name)]);
    let answers =
        served.pipeline(vec![message((0..9).map(|_| get(1)).collect()), message(vec![get(1)])]);
    let parts: Vec<_> = answers.iter().map(|it| (it.results.len(), it.continues)).collect();
    assert_eq!(parts, [(3, true), (3, true), (3, false), (1, false)]);
}
