//! The original's service, generated from its `.proto`: for the server of this crate, and for the client that loads
//! every server.

tonic::include_proto!("db");
