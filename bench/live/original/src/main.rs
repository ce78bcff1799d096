//! A server as the original question had it: a million values in a vector under a lock, every search looks at all of
//! them, an index that is not there panics, and a delete moves everything behind it. Written from the description of
//! the original; nothing is copied.
//!
//! `features-original PORT std|parking_lot|tokio|async-lock|empty`; `empty` holds nothing and answers every search
//! with ten records at once, which is what gRPC alone costs.

mod lock;

use features_original::{
    Indexes, Record, Records, Value, Values,
    db_server::{Db, DbServer},
};
use lock::Lock;
use tonic::{Request, Response, Status, transport::Server};

const RECORDS: usize = 1_000_000;
/// Some ten records have each value.
const VALUES: i32 = 100_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [port, lock] = arguments.as_slice() else {
        return Err("usage: features-original PORT std|parking_lot|tokio|async-lock|empty".into());
    };
    let address = format!("127.0.0.1:{port}").parse()?;
    let mut server = Server::builder();
    let router = match lock.as_str() {
        "std" => server.add_service(locked::<std::sync::RwLock<_>>()),
        "parking_lot" => server.add_service(locked::<parking_lot::RwLock<_>>()),
        "tokio" => server.add_service(locked::<tokio::sync::RwLock<_>>()),
        "async-lock" => server.add_service(locked::<async_lock::RwLock<_>>()),
        "empty" => server.add_service(DbServer::new(Empty)),
        _ => return Err(format!("no lock is called `{lock}`").into()),
    };
    router.serve(address).await?;
    Ok(())
}

struct Locked<L>(L);

fn locked<L: Lock>() -> DbServer<Locked<L>> {
    let mut random = fastrand::Rng::with_seed(7);
    DbServer::new(Locked(L::new((0..RECORDS).map(|_| random.i32(0..VALUES)).collect())))
}

#[tonic::async_trait]
impl<L: Lock> Db for Locked<L> {
    async fn search(&self, wanted: Request<Value>) -> Result<Response<Records>, Status> {
        let wanted = wanted.into_inner().value;
        let found = |values: &Vec<i32>| {
            let records = values.iter().enumerate().filter(|(_, value)| **value == wanted);
            records.map(|(index, value)| Record { index: index as i32, value: *value }).collect()
        };
        Ok(Response::new(Records { records: self.0.read(found).await }))
    }

    async fn update(&self, records: Request<Records>) -> Result<Response<()>, Status> {
        let records = records.into_inner().records;
        let update = |values: &mut Vec<i32>| {
            records.iter().for_each(|record| values[record.index as usize] = record.value);
        };
        Ok(Response::new(self.0.write(update).await))
    }

    async fn add(&self, new: Request<Values>) -> Result<Response<()>, Status> {
        let new = new.into_inner().values;
        Ok(Response::new(self.0.write(|values| values.extend(new)).await))
    }

    async fn delete(&self, indexes: Request<Indexes>) -> Result<Response<()>, Status> {
        let indexes = indexes.into_inner().indexes;
        let delete = |values: &mut Vec<i32>| {
            for index in indexes {
                values.remove(index as usize);
            }
        };
        Ok(Response::new(self.0.write(delete).await))
    }
}

/// What gRPC costs without any work.
struct Empty;

#[tonic::async_trait]
impl Db for Empty {
    async fn search(&self, wanted: Request<Value>) -> Result<Response<Records>, Status> {
        let Value { value } = wanted.into_inner();
        let records = (0..10).map(|index| Record { index, value }).collect();
        Ok(Response::new(Records { records }))
    }

    async fn update(&self, _: Request<Records>) -> Result<Response<()>, Status> {
        Ok(Response::new(()))
    }

    async fn add(&self, _: Request<Values>) -> Result<Response<()>, Status> {
        Ok(Response::new(()))
    }

    async fn delete(&self, _: Request<Indexes>) -> Result<Response<()>, Status> {
        Ok(Response::new(()))
    }
}
