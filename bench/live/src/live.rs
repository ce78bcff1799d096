//! Clients of `sakuin.live.v1`, which can do what `db.DB` cannot: search and update as one transaction that conflicts
//! instead of losing an update, the same in one call, and many operations in one message.

use sakuin_grpc::live::{
    Assignment, Cell, CellAssignment, CommitRequest, GetOperation, Operation, PipelineRequest,
    PipelineResponse, Precondition, Record, SearchOperation, SearchPrecondition, SearchRequest,
    UpdateOperation, UpdateWhereRequest, UpdateWrite, Value, Write, assignment, cell_assignment,
    live_client::LiveClient, operation, precondition, search_operation, value, write,
};
use tokio::sync::mpsc::{Sender, channel};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Streaming, transport::Channel};

use crate::{
    load::Worker,
    original::{Move, VALUES, random},
};

const TABLE: &str = "tables/features";
const RECORDS: u64 = 1_000_000;

/// Searches for a value and gives each record found another one, in a transaction; again if another was faster.
pub struct Transactions {
    client: LiveClient<Channel>,
    random: fastrand::Rng,
    values: i64,
    moves: Vec<Move>,
}

/// The same in one call, all records found getting one value.
pub struct UpdateWheres {
    client: LiveClient<Channel>,
    random: fastrand::Rng,
    moving: Moving,
    moves: Vec<Move>,
}

/// Where the records of a value go.
pub enum Moving {
    /// From any of so many values to any other, as all clients do.
    Anywhere(i64),
    /// From a value of this client's own to the one that was emptied last, so that no two values become one.
    Onwards { client: i64, clients: i64, emptied: i64 },
}

/// Sends messages with many operations each, several before it waits for answers.
pub struct Pipeline {
    sender: Sender<PipelineRequest>,
    answers: Streaming<PipelineResponse>,
    random: fastrand::Rng,
    kind: Pipelined,
}

/// What a message is full of.
#[derive(Clone, Copy, Debug)]
pub enum Pipelined {
    Gets,
    Searches,
    Updates,
    SearchesAndUpdates,
}

impl Transactions {
    pub fn new(channel: Channel, seed: usize, values: i64) -> Transactions {
        let client = LiveClient::new(channel);
        Transactions { client, random: random(seed), values, moves: Vec::new() }
    }

    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    async fn attempt(&mut self, from: i64) -> Result<Vec<Move>, tonic::Status> {
        let filter = format!("value = {from}");
        let search = SearchRequest {
            parent: TABLE.to_owned(),
            filter: filter.clone(),
            page_size: 1_000,
            ..SearchRequest::default()
        };
        let found = self.client.search(search).await?.into_inner();
        let (mut writes, mut moves) = (Vec::new(), Vec::new());
        for record in found.records {
            let to = self.random.i64(0..self.values);
            moves.push(Move { index: record.id as i64, from, to });
            let values = [("value".to_owned(), int(to))].into();
            let record = Some(Record { name: record.name, values, ..Record::default() });
            let update = UpdateWrite { record, update_mask: None };
            writes.push(Write { write: Some(write::Write::Update(update)) });
        }
        let search =
            SearchPrecondition { parent: TABLE.to_owned(), filter, snapshot: found.snapshot };
        let precondition = Some(precondition::Precondition::Search(search));
        let preconditions = vec![Precondition { precondition }];
        let commit = CommitRequest { writes, preconditions, ..CommitRequest::default() };
        self.client.commit(commit).await?;
        Ok(moves)
    }
}

impl Worker for Transactions {
    async fn once(&mut self) -> u64 {
        let from = self.random.i64(0..self.values);
        loop {
            match self.attempt(from).await {
                Ok(moves) => {
                    self.moves.extend(moves);
                    return 1;
                }
                Err(status) if status.code() == Code::Aborted => {}
                Err(status) => panic!("a transaction failed: {status}"),
            }
        }
    }
}

impl UpdateWheres {
    pub fn new(channel: Channel, seed: usize, moving: Moving) -> UpdateWheres {
        let client = LiveClient::new(channel);
        UpdateWheres { client, random: random(seed), moving, moves: Vec::new() }
    }

    pub fn moves(&self) -> &[Move] {
        &self.moves
    }
}

impl Moving {
    pub fn onwards(client: usize, clients: usize, random: &mut fastrand::Rng) -> Moving {
        let emptied = random.i64(i64::from(VALUES)..i64::from(i32::MAX));
        Moving::Onwards { client: client as i64, clients: clients as i64, emptied }
    }

    fn next(&mut self, random: &mut fastrand::Rng) -> (i64, i64) {
        match self {
            Moving::Anywhere(values) => (random.i64(0..*values), random.i64(0..*values)),
            Moving::Onwards { client, clients, emptied } => {
                let from = random.i64(0..i64::from(VALUES) / *clients) * *clients + *client;
                (from, std::mem::replace(emptied, from))
            }
        }
    }
}

impl Worker for UpdateWheres {
    async fn once(&mut self) -> u64 {
        let (from, to) = self.moving.next(&mut self.random);
        let to_value = Some(assignment::To::Set(int(to)));
        let request = UpdateWhereRequest {
            parent: TABLE.to_owned(),
            filter: format!("value = {from}"),
            assignments: vec![Assignment { attribute: "value".to_owned(), to: to_value }],
            request_id: String::new(),
        };
        let updated = self.client.update_where(request).await.expect("it conflicts with nobody");
        let ids = updated.into_inner().ids;
        self.moves.extend(ids.iter().map(|&id| Move { index: id as i64, from, to }));
        1
    }
}

impl Pipeline {
    const OPERATIONS: usize = 1_000;
    /// Messages sent before the first answer is waited for.
    const AHEAD: usize = 4;

    pub async fn open(channel: Channel, seed: usize, kind: Pipelined) -> Pipeline {
        let (sender, receiver) = self::channel(Pipeline::AHEAD + 1);
        let mut random = random(seed);
        for _ in 0..Pipeline::AHEAD {
            sender.send(message(kind, &mut random)).await.expect("there is room");
        }
        let answers = LiveClient::new(channel)
            .max_decoding_message_size(64 << 20)
            .pipeline(ReceiverStream::new(receiver))
            .await
            .expect("it opens")
            .into_inner();
        Pipeline { sender, answers, random, kind }
    }
}

impl Worker for Pipeline {
    async fn once(&mut self) -> u64 {
        self.sender.send(message(self.kind, &mut self.random)).await.expect("the stream is open");
        let mut done = 0;
        loop {
            let answer = self.answers.message().await.expect("it answers").expect("all of it");
            let failed = answer.results.iter().find(|result| {
                matches!(result.result, Some(sakuin_grpc::live::result::Result::Error(_)) | None)
            });
            assert!(failed.is_none(), "an operation failed: {failed:?}");
            done += answer.results.len() as u64;
            if !answer.continues {
                return done;
            }
        }
    }
}

fn message(kind: Pipelined, random: &mut fastrand::Rng) -> PipelineRequest {
    let cell = |value| Cell { attribute: 0, value: Some(int(value)) };
    let operations = (0..Pipeline::OPERATIONS).map(|at| {
        let operation = match kind {
            Pipelined::Gets => {
                operation::Operation::Get(GetOperation { id: random.u64(1..=RECORDS) })
            }
            Pipelined::SearchesAndUpdates if at % 2 == 0 => search(cell(value_of(random))),
            Pipelined::Searches => search(cell(value_of(random))),
            Pipelined::Updates | Pipelined::SearchesAndUpdates => {
                let to = Some(cell_assignment::To::Set(int(value_of(random))));
                let assignments = vec![CellAssignment { attribute: 0, to }];
                let id = random.u64(1..=RECORDS);
                operation::Operation::Update(UpdateOperation { id, version: 0, assignments })
            }
        };
        Operation { tag: at as u64, operation: Some(operation) }
    });
    PipelineRequest {
        table: "features".to_owned(),
        attributes: vec!["value".to_owned()],
        operations: operations.collect(),
        ..PipelineRequest::default()
    }
}

fn search(equal: Cell) -> operation::Operation {
    let by = Some(search_operation::By::Equal(equal));
    operation::Operation::Search(SearchOperation { by, records: false, limit: 0 })
}

fn value_of(random: &mut fastrand::Rng) -> i64 {
    random.i64(0..i64::from(VALUES))
}

fn int(value: i64) -> Value {
    Value { kind: Some(value::Kind::Int(value)) }
}
