//! Sessions of people who sign in at a page: a text that says who and until when, which nobody else can write.
//!
//! It is signed with a key that follows from the stored hash of the password. So nothing is kept of a session, all
//! servers of one store know it, it outlives a restart, and another password ends it.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::{
    Contacts,
    keeper::now,
    people::{SignInError, Who, hash_of_token, valid},
    root::{Principal, Root},
};

/// How long a session lasts, in seconds.
pub const SESSION_SECONDS: i64 = 14 * 86_400;

const CONTEXT: &str = "sakuin contacts 2026-11-22 session";

impl Contacts {
    /// Begins a session for who shows a password. Tokens of programs begin none.
    pub async fn begin_session(
        &self,
        root: &Root,
        name: &str,
        password: &str,
    ) -> Result<String, SignInError> {
        if valid(&root.directory, &hash_of_token(password)).is_some() {
            return Err(SignInError::Wrong);
        }
        let who = self.sign_in_with_password(root, name, password).await?;
        let until = now() + SESSION_SECONDS;
        let name = URL_SAFE_NO_PAD.encode(name);
        Ok(format!("{until}.{name}.{}", signature(&who.principal, until)))
    }
}

impl Root {
    /// Whose a session is, if it lasts.
    pub fn session(&self, session: &str) -> Option<Who> {
        let (until, rest) = session.split_once('.')?;
        let (name, signed) = rest.split_once('.')?;
        let name = String::from_utf8(URL_SAFE_NO_PAD.decode(name).ok()?).ok()?;
        let (until, signed) = (until.parse().ok()?, blake3::Hash::from_hex(signed).ok()?);
        let principal = self.directory.principal(&name)?;
        let is_signed = !principal.password.is_empty() && signature(principal, until) == signed;
        let lasts = until > now();
        (is_signed && lasts).then(|| Who { principal: principal.clone(), is_read_only: false })
    }
}

/// Compared in constant time.
fn signature(principal: &Principal, until: i64) -> blake3::Hash {
    let key = blake3::derive_key(CONTEXT, principal.password.as_bytes());
    let mut hasher = blake3::Hasher::new_keyed(&key);
    hasher.update(&principal.id.to_le_bytes()).update(&until.to_le_bytes());
    hasher.finalize()
}
