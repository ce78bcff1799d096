//! Contacts: cards kept byte for byte, in books that know what changed since when.

mod card;
mod collation;
mod convert;
mod duplicates;
mod edit;
mod filter;
mod import;
mod lines;
mod partial;
mod table;

pub use card::{Card, CardError, ETag, Version, is_xml_character};
pub use collation::Collation;
pub use convert::{converted, ended, rescued, split};
pub use edit::{Edit, card_of, edit};
pub use filter::{
    Filter, LineConditions, MatchKind, ParameterFilter, PropertyFilter, Test, TextMatch, Wanted,
};
pub use import::{Import, ImportError, Imported, Unread};
pub use lines::{Line, Parameter, escaped, lines, unescaped};
pub use partial::{PartialProperty, partial};

mod change;
mod collection;
mod contacts;
mod error;
mod keeper;
mod people;
mod query;
mod root;
mod session;
mod sql;
mod sync;

pub use change::{Change, Put, Refused};
pub use collection::{
    Collection, CollectionId, Content, Entry, Kind, Lock, PrincipalId, PropertyKey, Rights,
    is_below,
};
pub use contacts::{Contacts, Servers};
pub use error::{Error, OpenError};
pub use people::{DEFAULT_BOOK, FILES, SignIn, SignInError, UserError, Who};
pub use root::{AppToken, Directory, Header, Principal, Root};
pub use session::SESSION_SECONDS;
pub use sync::{Changed, Changes, SyncToken, UnknownToken};
