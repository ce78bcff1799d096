//! Money moves between accounts over gRPC while the server is killed again and again. However often that happens,
//! each look at all accounts finds as much money as there was, and what was acknowledged has happened.

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed},
};

use sakuin_grpc::live::{
    BatchGetRequest, CommitRequest, CreateWrite, Precondition, Record, RecordPrecondition,
    UpdateWrite, Value, Write, precondition, value, write,
};
use tonic::Status;

use crate::mortal::{self, Client, Failure, Mortal};

const TABLES: &str = r#"
[tables.accounts]
kind = "live"
attributes.balance = { type = "int", index = "ordered" }
"#;
const CLIENTS: usize = 20;
const ACCOUNTS: u64 = 40;
const BALANCE: i64 = 1_000;
const TRANSFERS: usize = 4_000;
const KILLS: usize = 4;

struct Bank {
    transferred: AtomicUsize,
    /// By account, what acknowledged transfers brought and took.
    acknowledged: Vec<AtomicI64>,
}

#[test]
fn no_money_is_made_or_lost_by_kills() {
    let runtime = mortal::runtime();
    let mut mortal = runtime.block_on(async { Mortal::start(TABLES) });
    runtime.block_on(open_accounts(&mut mortal.client(0)));
    let bank = Arc::new(Bank {
        transferred: AtomicUsize::new(0),
        acknowledged: (0..ACCOUNTS).map(|_| AtomicI64::new(BALANCE)).collect(),
    });
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| runtime.spawn(transfers(mortal.client(number), number, bank.clone())))
        .collect();
    for kill in 1..=KILLS {
        while bank.transferred.load(Relaxed) < TRANSFERS * kill / (KILLS + 1) {
            assert!(clients.iter().all(|client| !client.is_finished()), "a client gave up");
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        runtime.block_on(async { mortal.die_and_live() });
    }
    for client in clients {
        runtime.block_on(client).unwrap();
    }
    let balances = runtime.block_on(balances(&mut mortal.client(0))).unwrap();
    let acknowledged: Vec<i64> = bank.acknowledged.iter().map(|sum| sum.load(Relaxed)).collect();
    let found: Vec<i64> = balances.iter().map(|(_, balance)| *balance).collect();
    assert_eq!(found, acknowledged);
}

async fn open_accounts(client: &mut Client) {
    let create = |_| {
        let values = [("balance".to_owned(), int(BALANCE))].into();
        let record = Some(Record { values, ..Record::default() });
        let create = CreateWrite { parent: "tables/accounts".to_owned(), record };
        Write { write: Some(write::Write::Create(create)) }
    };
    let writes = (0..ACCOUNTS).map(create).collect();
    let commit = CommitRequest { writes, ..CommitRequest::default() };
    let ids = client.live().commit(commit).await.unwrap().into_inner().ids;
    assert_eq!(ids, (1..=ACCOUNTS).collect::<Vec<_>>());
}

/// Moves money until enough has been moved.
async fn transfers(mut client: Client, number: usize, bank: Arc<Bank>) {
    let mut random = fastrand::Rng::with_seed(number as u64 + 1);
    let mut request = 0;
    while bank.transferred.load(Relaxed) < TRANSFERS {
        request += 1;
        let accounts = match balances(&mut client).await {
            Ok(accounts) => accounts,
            Err(status) => {
                client.failure(&status).await;
                continue;
            }
        };
        let sum: i64 = accounts.iter().map(|(_, balance)| balance).sum();
        assert_eq!(sum, BALANCE * ACCOUNTS as i64);
        let from = random.usize(0..ACCOUNTS as usize);
        let to = (from + 1 + random.usize(0..ACCOUNTS as usize - 1)) % ACCOUNTS as usize;
        let amount = random.i64(0..100).min(accounts[from].1);
        let commit = CommitRequest {
            writes: vec![set(from, accounts[from].1 - amount), set(to, accounts[to].1 + amount)],
            preconditions: [from, to].map(|at| unchanged(at, accounts[at].0)).to_vec(),
            request_id: format!("{number}-{request}"),
            validate_only: false,
        };
        if is_done(&mut client, commit).await {
            bank.acknowledged[from].fetch_sub(amount, Relaxed);
            bank.acknowledged[to].fetch_add(amount, Relaxed);
            bank.transferred.fetch_add(1, Relaxed);
        }
    }
}

/// Commits; asks again under the same name as long as the answer is lost.
async fn is_done(client: &mut Client, commit: CommitRequest) -> bool {
    loop {
        let Err(status) = client.live().commit(commit.clone()).await else { return true };
        if let Failure::Conflict = client.failure(&status).await {
            return false;
        }
    }
}

/// Version and balance of each account, all of one moment.
async fn balances(client: &mut Client) -> Result<Vec<(u64, i64)>, Status> {
    let names = (0..ACCOUNTS as usize).map(name).collect();
    let found = client.live().batch_get(BatchGetRequest { names }).await?.into_inner();
    assert!(found.missing.is_empty(), "{:?} are gone", found.missing);
    let balance = |record: &Record| match record.values["balance"].kind {
        Some(value::Kind::Int(balance)) => (record.version, balance),
        ref other => panic!("{other:?} is no balance"),
    };
    Ok(found.records.iter().map(balance).collect())
}

fn name(account: usize) -> String {
    format!("tables/accounts/records/{}", account + 1)
}

fn set(account: usize, balance: i64) -> Write {
    let values = [("balance".to_owned(), int(balance))].into();
    let record = Some(Record { name: name(account), values, ..Record::default() });
    Write { write: Some(write::Write::Update(UpdateWrite { record, update_mask: None })) }
}

fn unchanged(account: usize, version: u64) -> Precondition {
    let record = RecordPrecondition { name: name(account), version };
    Precondition { precondition: Some(precondition::Precondition::Record(record)) }
}

fn int(number: i64) -> Value {
    Value { kind: Some(value::Kind::Int(number)) }
}
