//! `db.DB`: the feature database of old over one attribute of a live table. An index is an id less one.

use std::sync::Arc;

use sakuin_grpc::db::{Indexes, Record, Records, Value, Values, db_server::Db};
use sakuin_live::{CommitError, Filter, Store, Transaction};
use tonic::{Request, Response, Status};

use super::{MESSAGE_BYTES_MAX, refusal::Refusal};
use crate::{commit::commit, pool::Pool};

/// The service.
pub(crate) struct Door {
    store: Arc<Store>,
    pool: Pool,
    table: String,
    attribute: String,
    /// Whether a search is quicker than a thread is woken.
    is_quick: bool,
}

impl Door {
    pub(crate) fn new(store: Arc<Store>, pool: Pool, config: &crate::config::Db) -> Door {
        let (table, attribute) = (config.table.clone(), config.attribute.clone());
        let is_quick = config.is_indexed;
        Door { store, pool, table, attribute, is_quick }
    }
}

/// The longest that a record of an answer can be.
const RECORD_BYTES_MAX: usize = 19;

#[tonic::async_trait]
impl Db for Door {
    async fn search(&self, request: Request<Value>) -> Result<Response<Records>, Status> {
        let Value { value } = request.into_inner();
        let filter = Filter::equal(&self.attribute, i64::from(value));
        let snapshot = self.store.snapshot();
        let ids = match self.is_quick {
            true => snapshot.search_ids(&self.table, &filter),
            false => {
                let table = self.table.clone();
                let search = move || snapshot.search_ids(&table, &filter);
                self.pool.run(search).await.map_err(Refusal::from)?
            }
        };
        let ids = ids.map_err(Refusal::from)?;
        if ids.len() * RECORD_BYTES_MAX > MESSAGE_BYTES_MAX {
            let cure = "search for a rarer value, or page through `sakuin.live.v1.Live/Search`";
            return Err(Refusal::too_long("records", cure).into());
        }
        let records = ids.into_iter().map(|id| Ok(Record { index: index(id)?, value }));
        let records = records.collect::<Result<_, Refusal>>()?;
        Ok(Response::new(Records { records }))
    }

    async fn update(&self, request: Request<Records>) -> Result<Response<()>, Status> {
        let Records { records } = request.into_inner();
        let update = |transaction: &mut Transaction| -> Result<(), Refusal> {
            for Record { index, value } in &records {
                let values = [(self.attribute.as_str(), i64::from(*value).into())];
                let patched = transaction.patch(&self.table, id(*index)?, values);
                patched.map_err(|error| refused(*index, error))?;
            }
            Ok(())
        };
        commit(&self.store, None, update).await?;
        Ok(Response::new(()))
    }

    async fn add(&self, request: Request<Values>) -> Result<Response<()>, Status> {
        let Values { values } = request.into_inner();
        let add = |transaction: &mut Transaction| -> Result<(), Refusal> {
            for value in &values {
                let values = [(self.attribute.as_str(), i64::from(*value).into())];
                transaction.insert(&self.table, values)?;
            }
            Ok(())
        };
        commit(&self.store, None, add).await?;
        Ok(Response::new(()))
    }

    async fn delete(&self, request: Request<Indexes>) -> Result<Response<()>, Status> {
        let Indexes { indexes } = request.into_inner();
        let delete = |transaction: &mut Transaction| -> Result<(), Refusal> {
            for index in &indexes {
                let deleted = transaction.delete(&self.table, id(*index)?);
                deleted.map_err(|error| refused(*index, error))?;
            }
            Ok(())
        };
        commit(&self.store, None, delete).await?;
        Ok(Response::new(()))
    }
}

fn id(index: i32) -> Result<u64, Refusal> {
    let index_and_one = u64::try_from(index).map(|index| index + 1);
    index_and_one.map_err(|_| unknown(index))
}

fn index(id: u64) -> Result<i32, Refusal> {
    i32::try_from(id - 1).map_err(|_| {
        let cure = "read it through `sakuin.live.v1.Live`";
        let cause = format!("record {id} has no index of 32 bits; {cure}");
        Refusal::new(tonic::Code::OutOfRange, "INDEX_OUT_OF_RANGE", cause)
    })
}

fn refused(index: i32, error: CommitError) -> Refusal {
    match error {
        CommitError::NotFound { .. } => unknown(index),
        error => error.into(),
    }
}

fn unknown(index: i32) -> Refusal {
    let cause = format!("there is no index {index}; nothing was changed");
    let refusal = Refusal::new(tonic::Code::NotFound, "INDEX_NOT_FOUND", cause);
    refusal.with("index", index.to_string())
}
