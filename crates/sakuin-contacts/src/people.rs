//! Who may sign in: passwords, the tokens of programs, and what is remembered of those who did.
//!
//! A password costs some ten milliseconds to check (argon2id, RFC 9106), on purpose; so it is checked once, and then a
//! keyed hash of what was sent is remembered, for as long as its owner's sign-in stays the same. Failures are not
//! remembered; they are counted, by name.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use argon2::{
    Argon2, Params,
    password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString},
};
use tokio::sync::Semaphore;

use crate::{
    Contacts,
    change::{Change, Refused},
    collection::{Kind, PrincipalId},
    error::Error,
    keeper::now,
    root::{AppToken, Directory, Principal, Root},
};

/// Somebody who has signed in.
#[derive(Clone, Debug)]
pub struct Who {
    /// Who it is.
    pub principal: Arc<Principal>,
    /// Whether it may only look: it came with a token that says so.
    pub is_read_only: bool,
}

/// Why nobody signs in.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignInError {
    /// The name or the password is wrong; which, is not told.
    #[error("the name or the password is wrong")]
    Wrong,
    /// Too many wrong ones came for this name.
    #[error("too many wrong passwords")]
    TooMany {
        /// How long the next one is not looked at.
        wait: Duration,
    },
}

/// The name of the book that everybody has.
pub const DEFAULT_BOOK: &str = "addressbook";
/// The name of everybody's plain files in the store; no book can be called that.
pub const FILES: &str = "";

/// Of 19 MiB, twice over, as OWASP advises for argon2id.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;

/// How long a sign-in is remembered, and how many are.
const REMEMBERED_TIME: Duration = Duration::from_secs(600);
const REMEMBERED_MAX: usize = 10_000;

/// Wrong passwords for a name that cost nothing, and how long one more then takes to be forgotten.
const FREE_FAILURES: u32 = 10;
const FAILURE_TIME: Duration = Duration::from_secs(3);

/// What is remembered of who signed in.
pub(crate) struct SignIns {
    key: [u8; 32],
    remembered: Mutex<HashMap<[u8; 32], SignIn>>,
    failures: Mutex<HashMap<String, (u32, Instant)>>,
    /// A password at a time for each core: they take memory.
    slots: Semaphore,
    /// What a password for nobody is compared with, so that it takes as long.
    nobody: String,
}

/// That somebody has signed in, for as long as it counts.
#[derive(Clone, Debug)]
pub struct SignIn {
    principal: PrincipalId,
    version: u64,
    token: Option<[u8; 32]>,
    until: Instant,
}

impl SignIn {
    /// Who it is, if it still counts: another password, a token that was revoked and some minutes end it.
    pub fn holder<'r>(&self, root: &'r Root) -> Option<&'r Arc<Principal>> {
        let principal = root.directory.principal_of(self.principal)?;
        let is_same = principal.version == self.version && self.until > Instant::now();
        let is_known = self.token.is_none_or(|hash| valid(&root.directory, &hash).is_some());
        (is_same && is_known).then_some(principal)
    }

    fn who(&self, root: &Root) -> Option<Who> {
        let principal = self.holder(root)?.clone();
        let token = self.token.and_then(|hash| valid(&root.directory, &hash));
        Some(Who { principal, is_read_only: token.is_some_and(|token| token.is_read_only) })
    }
}

impl SignIns {
    pub(crate) fn new() -> SignIns {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        SignIns {
            key: random(),
            remembered: Mutex::default(),
            failures: Mutex::default(),
            slots: Semaphore::new(cores),
            nobody: hash(&hex(&random())),
        }
    }

    fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
        of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recall(&self, shown: &[u8; 32], root: &Root) -> Option<Who> {
        SignIns::lock(&self.remembered).get(shown)?.who(root)
    }

    fn remember(&self, shown: [u8; 32], who: &Who, token: Option<[u8; 32]>) {
        let (principal, version) = (who.principal.id, who.principal.version);
        let until = Instant::now() + REMEMBERED_TIME;
        let mut remembered = SignIns::lock(&self.remembered);
        if remembered.len() >= REMEMBERED_MAX {
            let now = Instant::now();
            remembered.retain(|_, one| one.until > now);
            if remembered.len() >= REMEMBERED_MAX {
                remembered.clear();
            }
        }
        remembered.insert(shown, SignIn { principal, version, token, until });
    }

    /// How long a name must wait after its failures.
    fn wait(&self, name: &str) -> Option<Duration> {
        let mut failures = SignIns::lock(&self.failures);
        let (count, since) = failures.get_mut(name)?;
        let forgotten = (since.elapsed().as_secs() / FAILURE_TIME.as_secs()) as u32;
        if forgotten > 0 {
            *count = count.saturating_sub(forgotten);
            *since += FAILURE_TIME * forgotten;
        }
        if *count == 0 {
            failures.remove(name);
            return None;
        }
        (*count > FREE_FAILURES).then(|| FAILURE_TIME * (*count - FREE_FAILURES))
    }

    fn failed(&self, name: &str) {
        let mut failures = SignIns::lock(&self.failures);
        if failures.len() >= REMEMBERED_MAX {
            failures.clear();
        }
        let (count, since) = failures.entry(name.to_owned()).or_insert((0, Instant::now()));
        if *count == 0 {
            *since = Instant::now();
        }
        *count += 1;
    }
}

impl Contacts {
    /// The sign-in with a password or a token that was looked at before: no waiting.
    pub fn recall(&self, name: &str, secret: &str) -> Option<SignIn> {
        SignIns::lock(&self.sign_ins.remembered).get(&self.shown(name, secret)).cloned()
    }

    /// Who signs in with a password or a token.
    pub async fn sign_in(&self, root: &Root, name: &str, secret: &str) -> Result<Who, SignInError> {
        let shown = self.shown(name, secret);
        if let Some(who) = self.sign_ins.recall(&shown, root) {
            return Ok(who);
        }
        let principal = root.directory.principal(name).cloned();
        let hash = hash_of_token(secret);
        if let (Some(principal), Some(token)) = (&principal, valid(&root.directory, &hash))
            && token.principal == principal.id
        {
            let who = Who { principal: principal.clone(), is_read_only: token.is_read_only };
            self.sign_ins.remember(shown, &who, Some(hash));
            return Ok(who);
        }
        self.sign_in_with_password(root, name, secret).await
    }

    /// Who signs in with a password, and with nothing else.
    pub(crate) async fn sign_in_with_password(
        &self,
        root: &Root,
        name: &str,
        secret: &str,
    ) -> Result<Who, SignInError> {
        let shown = self.shown(name, secret);
        let principal = root.directory.principal(name).cloned();
        if let Some(wait) = self.sign_ins.wait(name) {
            return Err(SignInError::TooMany { wait });
        }
        let is_right = self.check(principal.as_deref(), secret, &shown, root).await;
        match (principal, is_right) {
            (Some(principal), true) => {
                let who = Who { principal, is_read_only: false };
                self.sign_ins.remember(shown, &who, None);
                Ok(who)
            }
            _ => {
                self.sign_ins.failed(name);
                Err(SignInError::Wrong)
            }
        }
    }

    /// Whether a password is somebody's. Those who come with the same one meanwhile wait for the answer.
    async fn check(
        &self,
        who: Option<&Principal>,
        secret: &str,
        shown: &[u8; 32],
        root: &Root,
    ) -> bool {
        let Ok(_slot) = self.sign_ins.slots.acquire().await else { return false };
        if self.sign_ins.recall(shown, root).is_some() {
            return true;
        }
        let known = who.map(|who| who.password.to_string()).filter(|password| !password.is_empty());
        let is_somebody = known.is_some();
        let (known, secret) =
            (known.unwrap_or_else(|| self.sign_ins.nobody.clone()), secret.to_owned());
        let checked = self.runtime().spawn_blocking(move || is_password(&known, &secret)).await;
        checked.unwrap_or(false) && is_somebody
    }

    fn shown(&self, name: &str, secret: &str) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.sign_ins.key);
        hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
        *hasher.update(secret.as_bytes()).finalize().as_bytes()
    }

    /// Adds somebody with a book and a place for files.
    pub async fn add_user(&self, name: &str, password: &str) -> Result<PrincipalId, UserError> {
        check_name(name)?;
        let (name, password) = (name.to_owned(), self.hashed(password).await?);
        self.change(&[], move |change| {
            let id = change.add_principal(&name, &password)?;
            change.create_collection(id, DEFAULT_BOOK, Kind::Book)?;
            change.create_collection(id, FILES, Kind::Files)?;
            Ok(id)
        })
        .await
    }

    /// Gives somebody another password. Whatever was remembered of the old one counts no more.
    pub async fn set_password(&self, name: &str, password: &str) -> Result<(), UserError> {
        let (name, password) = (name.to_owned(), self.hashed(password).await?);
        self.change(&[], move |change| {
            let principal = known(change, &name)?;
            let version = change.root().commit;
            change.set_principal(Principal { password: password.into(), version, ..principal });
            Ok(())
        })
        .await
    }

    /// Says whether somebody may do everything.
    pub async fn set_admin(&self, name: &str, is_admin: bool) -> Result<(), UserError> {
        let name = name.to_owned();
        self.change(&[], move |change| {
            let principal = known(change, &name)?;
            change.set_principal(Principal { is_admin, ..principal });
            Ok(())
        })
        .await
    }

    /// Removes somebody with all books.
    pub async fn remove_user(&self, name: &str) -> Result<(), UserError> {
        let name = name.to_owned();
        self.change(&[], move |change| {
            let id = known(change, &name)?.id;
            Ok(change.remove_principal(id)?)
        })
        .await
    }

    /// Makes a token for a program of somebody: it is told once, and kept as a hash.
    pub async fn add_token(
        &self,
        name: &str,
        label: &str,
        is_read_only: bool,
        expires: Option<i64>,
    ) -> Result<String, UserError> {
        let bytes: [u8; 32] = random();
        let secret = format!("skn_{}", hex(&bytes[..20]));
        let hash = hash_of_token(&secret);
        let (name, label) = (name.to_owned(), label.to_owned());
        self.change(&[], move |change| {
            let principal = known(change, &name)?.id;
            let taken =
                change.root().directory.tokens(principal).any(|token| *token.label == *label);
            if taken {
                return Err(Refused::Exists { name: label }.into());
            }
            change.add_token(
                hash,
                AppToken { principal, label: label.into(), is_read_only, expires },
            );
            Ok(())
        })
        .await
        .map(|()| secret)
    }

    /// Takes a token away, by its label.
    pub async fn revoke_token(&self, name: &str, label: &str) -> Result<(), UserError> {
        let (name, label) = (name.to_owned(), label.to_owned());
        self.change(&[], move |change| {
            let principal = known(change, &name)?.id;
            let tokens = &change.root().directory.tokens;
            let found =
                tokens.iter().find(|(_, it)| it.principal == principal && *it.label == *label);
            let hash = found.map(|(hash, _)| *hash);
            change.remove_token(hash.ok_or(Refused::NoEntry { name: label })?);
            Ok(())
        })
        .await
    }

    async fn hashed(&self, password: &str) -> Result<String, UserError> {
        if password.is_empty() {
            return Err(UserError::NoPassword);
        }
        let password = password.to_owned();
        let hashed = self.runtime().spawn_blocking(move || hash(&password)).await;
        hashed.map_err(|_| Error::Unanswered.into())
    }
}

fn known(change: &Change<'_>, name: &str) -> Result<Principal, Refused> {
    let found = change.root().directory.principal(name);
    found
        .map(|it| Principal::clone(it))
        .ok_or_else(|| Refused::NoPrincipal { name: name.to_owned() })
}

/// What is kept of a token.
pub(crate) fn hash_of_token(secret: &str) -> [u8; 32] {
    *blake3::hash(secret.as_bytes()).as_bytes()
}

pub(crate) fn valid<'d>(directory: &'d Directory, hash: &[u8; 32]) -> Option<&'d Arc<AppToken>> {
    let token = directory.tokens.get(hash)?;
    token.expires.is_none_or(|expires| expires > now()).then_some(token)
}

/// Why nobody is added or changed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UserError {
    /// The name cannot be one.
    #[error("`{name}` cannot be a name")]
    Name {
        /// What was asked for.
        name: String,
    },
    /// The password is empty.
    #[error("the password is empty")]
    NoPassword,
    /// It does not fit what is there.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The store fails.
    #[error(transparent)]
    Store(#[from] Error),
}

impl UserError {
    /// What would do.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            UserError::Name { .. } => {
                Some("a name has 1 to 64 letters, digits, `-`, `_`, `.` and `@`")
            }
            UserError::NoPassword => Some("give one of some length"),
            _ => None,
        }
    }
}

fn check_name(name: &str) -> Result<(), UserError> {
    let is_good = |one: char| one.is_alphanumeric() || "-_.@".contains(one);
    let is_dots = name.bytes().all(|byte| byte == b'.');
    match (1..=64).contains(&name.chars().count()) && name.chars().all(is_good) && !is_dots {
        true => Ok(()),
        false => Err(UserError::Name { name: name.to_owned() }),
    }
}

fn argon2() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, PASSES, 1, None).expect("they are within what is allowed");
    Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params)
}

fn hash(password: &str) -> String {
    let bytes: [u8; 32] = random();
    let salt = SaltString::encode_b64(&bytes[..16]).expect("16 bytes are a salt");
    let hashed = argon2().hash_password(password.as_bytes(), &salt);
    hashed.expect("a password of any length is hashed").to_string()
}

fn is_password(known: &str, password: &str) -> bool {
    let known = PasswordHash::new(known);
    known.is_ok_and(|known| argon2().verify_password(password.as_bytes(), &known).is_ok())
}

fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the system has random bytes");
    bytes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
