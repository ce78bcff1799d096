//! Twenty clients run transactions over gRPC against a server that is killed again and again, and nothing that they
//! saw may contradict that the transactions happened one after another, each between its call and its answer.
//!
//! There are two kinds of lists. One is a text of a record, read by its id and written whole, so that an append reads
//! too. The other is a group of records: an append inserts one, and a search reads them all, in the order of their
//! versions; so a phantom shows as a missed append. Lists grow to [`APPENDS_MAX`] and are then left alone.
//!
//! `SAKUIN_TRANSACTIONS` says how many are to be committed; a million take some minutes, optimised:
//!
//! `SAKUIN_TRANSACTIONS=1000000 cargo test --release -p sakuin-cli --test it history -- --nocapture`

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use sakuin_grpc::live::{
    BatchGetRequest, CommitRequest, CreateWrite, Precondition, Record, RecordPrecondition,
    SearchPrecondition, SearchRequest, UpdateWrite, Value, Write, precondition, value, write,
};
use tonic::Status;

use crate::{
    checker::{Outcome, Seen, anomalies},
    mortal::{self, Client, Failure, Mortal},
};

const TABLES: &str = "[tables.lists]\nkind = \"live\"\nattributes.elements = { type = \"text\" }\n\
     [tables.members]\nkind = \"live\"\nattributes.group = { type = \"int\", index = \"equal\" }\n\
     attributes.element = { type = \"int\" }\n";
const CLIENTS: usize = 20;
/// Lists of each kind that are written at a time.
const OPEN: i64 = 48;
const APPENDS_MAX: i64 = 32;

#[test]
fn twenty_clients_and_kills_leave_a_strictly_serializable_history() {
    let count = std::env::var("SAKUIN_TRANSACTIONS").map_or(8_000, |count| count.parse().unwrap());
    let found = run(count, 3 + count / 50_000, Care::Validated);
    assert!(found.is_empty(), "{found:#?}");
}

/// The same clients without preconditions: what they do wrong must be seen, or the test above shows nothing.
#[test]
fn a_history_without_preconditions_shows_its_anomalies() {
    let found = run(3_000, 0, Care::Careless);
    let kinds: Vec<&str> = found.iter().map(|(kind, _)| kind.as_str()).collect();
    assert!(kinds.contains(&"lost-update"), "{kinds:?}");
}

/// Whether transactions say what they have read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Care {
    Validated,
    Careless,
}

/// What all clients share.
struct Shared {
    start: Instant,
    care: Care,
    wanted: usize,
    committed: AtomicUsize,
    conflicts: AtomicUsize,
    unknown: AtomicUsize,
    /// Appends to each of the open lists, of both kinds by turns, and to those that were open in its place before.
    appends: Vec<AtomicI64>,
    next_element: AtomicI64,
    next_client: AtomicI64,
    /// The first record of `lists`; the others follow.
    first: u64,
}

/// A transaction to be tried.
struct Plan {
    reads: Vec<i64>,
    appends: Vec<(i64, i64)>,
}

fn run(wanted: usize, kills: usize, care: Care) -> Vec<(String, String)> {
    let runtime = mortal::runtime();
    let mut mortal = runtime.block_on(async { Mortal::start(TABLES) });
    // An append on average, failed ones too, half of them to lists of the first kind; the more of those the better.
    let lists = OPEN as usize * 2 + wanted / 8;
    let first = runtime.block_on(create_lists(&mut mortal.client(0), lists));
    let shared = Arc::new(Shared {
        start: Instant::now(),
        care,
        wanted,
        committed: AtomicUsize::new(0),
        conflicts: AtomicUsize::new(0),
        unknown: AtomicUsize::new(0),
        appends: (0..2 * OPEN).map(|_| AtomicI64::new(0)).collect(),
        next_element: AtomicI64::new(1),
        next_client: AtomicI64::new(CLIENTS as i64),
        first,
    });
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| runtime.spawn(transactions(mortal.client(number), number, shared.clone())))
        .collect();
    for kill in 1..=kills {
        let at = wanted * kill / (kills + 1);
        while shared.committed.load(Relaxed) < at {
            assert!(clients.iter().all(|client| !client.is_finished()), "a client gave up");
            std::thread::park_timeout(Duration::from_millis(1));
        }
        runtime.block_on(async { mortal.die_and_live() });
    }
    let mut history: Vec<Seen> = Vec::new();
    for client in clients {
        history.extend(runtime.block_on(client).unwrap());
    }
    let seconds = shared.start.elapsed().as_secs_f64();
    history.extend(runtime.block_on(read_all(mortal.client(0), &shared)));
    eprintln!(
        "{} transactions committed in {seconds:.1} s, {} conflicts, {} broken off, {kills} kills",
        shared.committed.load(Relaxed),
        shared.conflicts.load(Relaxed),
        shared.unknown.load(Relaxed),
    );
    let start = Instant::now();
    let found = anomalies(history);
    eprintln!("checked in {:.1} s", start.elapsed().as_secs_f64());
    found
}

/// Empty lists of the first kind; gives the id of the first.
async fn create_lists(client: &mut Client, count: usize) -> u64 {
    let mut first = None;
    for at in (0..count).step_by(1_000) {
        let writes = (at..count.min(at + 1_000))
            .map(|_| create("lists", [("elements".to_owned(), text(String::new()))]));
        let commit = CommitRequest { writes: writes.collect(), ..CommitRequest::default() };
        let ids = client.live().commit(commit).await.unwrap().into_inner().ids;
        first.get_or_insert(ids[0]);
        assert!(ids.is_sorted());
    }
    first.unwrap()
}

/// One client, until enough is committed.
async fn transactions(mut client: Client, number: usize, shared: Arc<Shared>) -> Vec<Seen> {
    let mut random = fastrand::Rng::with_seed(number as u64 + 1);
    let mut process = number as i64;
    let mut history = Vec::new();
    let mut request = 0;
    while shared.committed.load(Relaxed) < shared.wanted {
        request += 1;
        let plan = shared.plan(&mut random);
        let id = format!("{number}-{request}");
        let start = shared.now();
        let (outcome, reads) = shared.attempt(&mut client, &plan, &id, request % 4 == 0).await;
        let counter = match outcome {
            Outcome::Committed => &shared.committed,
            Outcome::Failed => &shared.conflicts,
            Outcome::Unknown => &shared.unknown,
        };
        counter.fetch_add(1, Relaxed);
        let time = (start, shared.now());
        history.push(Seen { time, client: process, outcome, reads, appends: plan.appends });
        if outcome == Outcome::Unknown {
            process = shared.next_client.fetch_add(1, Relaxed);
        }
    }
    history
}

/// At last, every list as it is: what was acknowledged must be there.
async fn read_all(mut client: Client, shared: &Shared) -> Vec<Seen> {
    let mut history = Vec::new();
    let process = shared.next_client.fetch_add(1, Relaxed);
    for (slot, appends) in shared.appends.iter().enumerate() {
        for generation in 0..=appends.load(Relaxed) / APPENDS_MAX {
            let key = slot as i64 + generation * 2 * OPEN;
            let start = shared.now();
            let plan = Plan { reads: vec![key], appends: Vec::new() };
            let (outcome, reads) = shared.attempt(&mut client, &plan, "", false).await;
            assert_eq!(outcome, Outcome::Committed);
            let time = (start, shared.now());
            history.push(Seen { time, client: process, outcome, reads, appends: Vec::new() });
        }
    }
    history
}

impl Shared {
    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// One to three lists are read, none to two appended to.
    fn plan(&self, random: &mut fastrand::Rng) -> Plan {
        let mut keys: Vec<i64> = Vec::new();
        let count = 1 + random.u64(0..3);
        while (keys.len() as u64) < count {
            let slot = random.u64(0..2 * OPEN as u64);
            let generation = self.appends[slot as usize].load(Relaxed) / APPENDS_MAX;
            let key = slot as i64 + generation * 2 * OPEN;
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let appends = (random.usize(0..3)).min(keys.len());
        let appends = keys[..appends].iter().map(|&key| {
            self.appends[(key % (2 * OPEN)) as usize].fetch_add(1, Relaxed);
            (key, self.next_element.fetch_add(1, Relaxed))
        });
        let appends: Vec<(i64, i64)> = appends.collect();
        // An insert into a group need not look at it; a list has to be read to be written.
        let blind = random.bool();
        let is_blind =
            |key: &i64| blind && is_group(*key) && appends.iter().any(|(of, _)| of == key);
        let reads = keys.iter().copied().filter(|key| !is_blind(key)).collect();
        Plan { reads, appends }
    }

    /// Reads, then commits. If the answer is lost, asks again under the same name, or gives the answer up.
    async fn attempt(
        &self,
        client: &mut Client,
        plan: &Plan,
        id: &str,
        gives_up: bool,
    ) -> (Outcome, Vec<(i64, Vec<i64>)>) {
        let read = match self.read(client, plan).await {
            Ok(read) => read,
            Err(status) => {
                client.failure(&status).await;
                return (Outcome::Failed, Vec::new());
            }
        };
        // What one call has read is of one snapshot: it needs no commit to be true.
        if plan.appends.is_empty() && read.calls == 1 {
            return (Outcome::Committed, read.lists);
        }
        let writes = plan.appends.iter().map(|&(key, element)| self.write(&read, key, element));
        let preconditions =
            if self.care == Care::Validated { read.preconditions.clone() } else { Vec::new() };
        let commit = CommitRequest {
            writes: writes.collect(),
            preconditions,
            request_id: id.to_owned(),
            validate_only: false,
        };
        loop {
            let Err(status) = client.live().commit(commit.clone()).await else {
                return (Outcome::Committed, read.lists);
            };
            match client.failure(&status).await {
                Failure::Conflict => return (Outcome::Failed, read.lists),
                Failure::Unknown if gives_up => return (Outcome::Unknown, read.lists),
                Failure::Unknown => {}
            }
        }
    }

    /// The lists of the first kind in one call, each of the second in one of its own.
    async fn read(&self, client: &mut Client, plan: &Plan) -> Result<Read, Status> {
        let mut read = Read::default();
        let texts: Vec<i64> = plan.reads.iter().copied().filter(|key| !is_group(*key)).collect();
        if !texts.is_empty() {
            let names = texts.iter().map(|&key| self.name(key)).collect();
            let found = client.live().batch_get(BatchGetRequest { names }).await?.into_inner();
            assert!(found.missing.is_empty(), "{:?} were deleted", found.missing);
            for (key, record) in texts.into_iter().zip(found.records) {
                let Some(value::Kind::Text(elements)) = kind(&record, "elements") else {
                    panic!("{record:?} has no elements");
                };
                let numbers = elements.split_whitespace().map(|number| number.parse().unwrap());
                read.lists.push((key, numbers.collect()));
                read.texts.push((key, elements));
                let version = record.version;
                let same = RecordPrecondition { name: record.name, version };
                read.expect(precondition::Precondition::Record(same));
            }
            read.calls += 1;
        }
        for key in plan.reads.iter().copied().filter(|key| is_group(*key)) {
            let (parent, filter) = ("tables/members".to_owned(), format!("group = {key}"));
            let (page_size, search) = (1_000, (parent.clone(), filter.clone()));
            let search = SearchRequest {
                parent: search.0,
                filter: search.1,
                page_size,
                ..SearchRequest::default()
            };
            let found = client.live().search(search).await?.into_inner();
            assert!(found.next_page_token.is_empty(), "a list is longer than {APPENDS_MAX}");
            let mut members: Vec<(u64, i64)> = found
                .records
                .iter()
                .map(|record| match kind(record, "element") {
                    Some(value::Kind::Int(element)) => (record.version, element),
                    other => panic!("{other:?} is no element"),
                })
                .collect();
            members.sort_unstable();
            read.lists.push((key, members.into_iter().map(|(_, element)| element).collect()));
            let same = SearchPrecondition { parent, filter, snapshot: found.snapshot };
            read.expect(precondition::Precondition::Search(same));
            read.calls += 1;
        }
        Ok(read)
    }

    fn write(&self, read: &Read, key: i64, element: i64) -> Write {
        if is_group(key) {
            let values = [("group".to_owned(), int(key)), ("element".to_owned(), int(element))];
            return create("members", values);
        }
        let (_, before) = read.texts.iter().find(|(of, _)| *of == key).expect("it was read");
        let values = [("elements".to_owned(), text(format!("{before} {element}")))].into();
        let record = Some(Record { name: self.name(key), values, ..Record::default() });
        Write { write: Some(write::Write::Update(UpdateWrite { record, update_mask: None })) }
    }

    fn name(&self, key: i64) -> String {
        format!("tables/lists/records/{}", self.first + key as u64 / 2)
    }
}

/// What a transaction has read.
#[derive(Default)]
struct Read {
    lists: Vec<(i64, Vec<i64>)>,
    texts: Vec<(i64, String)>,
    preconditions: Vec<Precondition>,
    calls: usize,
}

impl Read {
    fn expect(&mut self, precondition: precondition::Precondition) {
        self.preconditions.push(Precondition { precondition: Some(precondition) });
    }
}

/// Lists of both kinds by turns.
fn is_group(key: i64) -> bool {
    key % 2 == 1
}

fn create<const COUNT: usize>(table: &str, values: [(String, Value); COUNT]) -> Write {
    let record = Some(Record { values: values.into(), ..Record::default() });
    let create = CreateWrite { parent: format!("tables/{table}"), record };
    Write { write: Some(write::Write::Create(create)) }
}

fn kind(record: &Record, attribute: &str) -> Option<value::Kind> {
    record.values.get(attribute)?.kind.clone()
}

fn int(number: i64) -> Value {
    Value { kind: Some(value::Kind::Int(number)) }
}

fn text(text: String) -> Value {
    Value { kind: Some(value::Kind::Text(text)) }
}
