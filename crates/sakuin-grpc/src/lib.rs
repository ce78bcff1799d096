//! The gRPC services of Sakuin: messages, clients and what a server implements, generated from the files in `proto`,
//! whose comments are their reference.
//!
//! A client is made from a channel of tonic, or of whatever else carries gRPC:
//!
//! ```ignore
//! let channel = tonic::transport::Endpoint::from_static("http://localhost:8080").connect().await?;
//! let mut live = sakuin_grpc::live::live_client::LiveClient::new(channel);
//! let request = sakuin_grpc::live::GetRequest { name: "tables/features/records/1".to_owned() };
//! let record = live.get(request).await?.into_inner().record;
//! ```

// Generated code has its comments where the protocol files have them, and is formatted as it comes.
#![allow(missing_docs, clippy::all, clippy::unwrap_used, unreachable_pub)]

/// `sakuin.live.v1`: live tables.
pub mod live {
    tonic::include_proto!("sakuin.live.v1");
}

/// `sakuin.v1`: answers of tables of every kind.
pub mod lookup {
    tonic::include_proto!("sakuin.v1");
}

/// `db`: the feature database of old.
pub mod db {
    tonic::include_proto!("db");
}

/// Values of live tables as messages have them.
#[cfg(feature = "values")]
pub mod value;

/// Everything the protocol files say, comments too, for those who ask a server by reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
