//! `grpc.health.v1.Health`: whether each service should be sent calls. `sakuin.live.v1.Live` should not once its store
//! writes no more; none should once the server is told to stop.

use std::{pin::Pin, sync::Arc, time::Duration};

use futures_util::{Stream, stream};
use sakuin_live::Store;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus,
    health_server::Health,
};

use super::refusal::Refusal;

/// The service.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) services: Arc<[&'static str]>,
    pub(crate) store: Option<Arc<Store>>,
    pub(crate) stopping: CancellationToken,
}

/// The services that a store takes down which writes no more.
const WRITING: [&str; 2] = [super::LIVE, super::DB];

/// How often a watched service is looked at.
const LOOK_TIME: Duration = Duration::from_secs(1);

#[tonic::async_trait]
impl Health for Door {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let HealthCheckRequest { service } = request.into_inner();
        match self.status(&service) {
            ServingStatus::ServiceUnknown => {
                let cause = format!("there is no service `{service}`");
                Err(Refusal::new(tonic::Code::NotFound, "SERVICE_NOT_FOUND", cause).into())
            }
            status => Ok(Response::new(HealthCheckResponse { status: status.into() })),
        }
    }

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let HealthCheckRequest { service } = request.into_inner();
        let watched = (self.clone(), service, None);
        let statuses = stream::unfold(watched, |(door, service, told)| async move {
            loop {
                let status = door.status(&service);
                if told != Some(status) {
                    let response = HealthCheckResponse { status: status.into() };
                    return Some((Ok(response), (door, service, Some(status))));
                }
                // Having said that it stops, the server owes this stream nothing.
                if door.stopping.is_cancelled() {
                    return None;
                }
                let _ = tokio::time::timeout(LOOK_TIME, door.stopping.cancelled()).await;
            }
        });
        Ok(Response::new(Box::pin(statuses)))
    }
}

impl Door {
    fn status(&self, service: &str) -> ServingStatus {
        if !service.is_empty() && !self.services.contains(&service) {
            return ServingStatus::ServiceUnknown;
        }
        let writes = || self.store.as_ref().is_none_or(|store| store.status().read_only.is_none());
        match self.stopping.is_cancelled() || WRITING.contains(&service) && !writes() {
            true => ServingStatus::NotServing,
            false => ServingStatus::Serving,
        }
    }
}
