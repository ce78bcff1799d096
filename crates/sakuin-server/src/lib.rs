//! The doors of Sakuin: HTTP, and the reading site on which every word explains itself.
//!
//! ```no_run
//! let config = sakuin_server::Config::read("sakuin.toml")?;
//! sakuin_server::serve(&config)?; // until SIGTERM
//! # Ok::<(), sakuin_server::Error>(())
//! ```

mod accept;
mod admin;
mod assets;
mod body;
mod check;
mod commit;
mod config;
mod connection;
mod contacts;
mod counters;
#[cfg(not(fuzzing))]
mod dav;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod dav;
mod door;
mod error;
mod event_loop;
mod follow;
mod grpc;
mod http2;
mod listen;
mod log;
mod lookup;
mod metrics;
mod pool;
mod proxy;
mod reader;
mod reload;
mod reply;
mod server;
mod state;
mod tls;

pub use check::{Checked, check};
pub use config::{
    AccessLog, Config, ContactsConfig, Db, GrpcConfig, ReaderConfig, ServerConfig, Tls,
};
pub use error::Error;
pub use reader::{
    day::{Day, Period},
    html::{Passage, pieces, plain, without_ruby},
    import::{ImportError, Report, import},
    ruby::pieces as ruby_pieces,
    stories::{Added, Content, DayOfStories, Stories, StoriesError, Story, Writing},
};
pub use reload::Reloader;
pub use sakuin::ConfigError;
pub use server::{Limits, Server, serve};
