//! `grpc.health.v1.Health`: whether each service should be sent calls. `sakuin.live.v1.Live` should not once its store
//! writes no more; none should once the server is told to stop.

use std::{pin::Pin, sync::Arc, time::Duration};

use futures_util::{Stream, stream};
use sakuin_live::Store;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, HealthListRequest, HealthListResponse,
    health_check_response::ServingStatus, health_server::Health,
};

use super::refusal::Refusal;

/// The service.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) services: Arc<[&'static str]>,
    /// The services that a store that writes no more takes down.
    pub(crate) live: &'static [&'static str],
    pub(crate) store: Option<Arc<Store>>,
    pub(crate) stopping: CancellationToken,
}

/// How often a watched service is looked at.
const LOOK_TIME: Duration = Duration::from_secs(1);
