//! Tables by name: packed files, live records and cached origins, opened from one configuration, asked in one way.
//!
//! [`Config`] says which tables there are; [`Tables::open`] opens them; a [`Table`] answers a [`Key`] with an
//! [`Answer`], which says how old it is and where it came from.
//!
//! Cached tables need the feature of their origin: `http-origin` or `sql-origin`.

mod answer;
#[cfg_attr(
    not(all(feature = "http-origin", feature = "sql-origin")),
    allow(dead_code, unused_imports, unused_variables, unreachable_code, reason = "less to ask")
)]
mod cached;
pub mod config;
pub mod document;
mod error;
#[cfg(all(fuzzing, feature = "http-origin"))]
pub mod fuzzing;
mod key;
mod live;
mod map;
#[cfg_attr(
    not(all(feature = "http-origin", feature = "sql-origin")),
    allow(dead_code, unused_imports, unused_variables, unreachable_code, reason = "less to ask")
)]
mod origin;
mod prepared;
#[cfg(feature = "http-origin")]
pub mod proxy;
pub mod repository;
mod table;
mod tables;
mod template;

pub use answer::{Answer, Source};
pub use cached::Cached;
pub use config::Config;
pub use document::ConfigError;
pub use error::{AnswerError, OpenError};
pub use key::{Expression, KEY_BYTES_MAX, Key, KeyError, KeyRule, Part, Pattern, PatternError};
pub use live::Live;
pub use map::{MapError, Mapping};
pub use origin::Origins;
pub use prepared::{Coding, Prepared, Representation};
pub use repository::Repository;
pub use table::{Packed, Published, Table};
pub use tables::{Follower, Tables};
pub use template::{Template, TemplateError};
