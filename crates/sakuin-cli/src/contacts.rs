//! `sakuin contacts user`, `token`, `import` and `export`: people, their programs, and their cards, whether a server
//! runs or not.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use sakuin_contacts::{
    CollectionId, Contacts as Store, DEFAULT_BOOK, Import as File, Imported, Kind, Servers, ended,
};
use sakuin_server::Config;

/// Manage contacts: people, the tokens of their programs, and their cards.
///
/// These commands open the store that `[contacts]` of a configuration names, beside a server that may have it open; the
/// server sees what they do within a second.
#[derive(clap::Subcommand)]
pub(crate) enum Contacts {
    #[command(subcommand)]
    User(User),
    #[command(subcommand)]
    Token(Token),
    Import(Import),
    Export(Export),
}

#[derive(clap::Args)]
pub(crate) struct At {
    /// The configuration that names the store
    #[arg(long, value_name = "CONFIG.toml", default_value = crate::serve::DEFAULT_CONFIG)]
    config: PathBuf,
}

/// Add, change, list and remove people.
#[derive(clap::Subcommand)]
pub(crate) enum User {
    /// Add somebody, with an empty book; asks for a password.
    Add {
        name: String,
        #[command(flatten)]
        password: Password,
        /// Somebody who may do everything
        #[arg(long)]
        admin: bool,
        #[command(flatten)]
        at: At,
    },
    /// Give somebody another password.
    Passwd {
        name: String,
        #[command(flatten)]
        password: Password,
        #[command(flatten)]
        at: At,
    },
    /// List people and their books.
    List {
        #[command(flatten)]
        at: At,
    },
    /// Remove somebody, with all their books and files.
    Remove {
        name: String,
        #[command(flatten)]
        at: At,
    },
}

#[derive(clap::Args)]
pub(crate) struct Password {
    /// Read the password from standard input, to the end of its first line
    #[arg(long)]
    password_stdin: bool,
}

/// Make and revoke tokens, which programs sign in with in place of a password.
#[derive(clap::Subcommand)]
pub(crate) enum Token {
    /// Make a token, and print it: it is told this once.
    Create {
        name: String,
        /// What it is for: `telephone`
        label: String,
        /// One that may only look
        #[arg(long)]
        read_only: bool,
        /// One that ends after so many days
        #[arg(long)]
        days: Option<u32>,
        #[command(flatten)]
        at: At,
    },
    /// Take a token away: whoever has it is signed out at once.
    Revoke {
        name: String,
        label: String,
        #[command(flatten)]
        at: At,
    },
}

/// Import contacts from a file of cards (.vcf), a table (.csv), or all such files of a folder.
///
/// A table's first row names its columns, as Google, Outlook and people do; what an unknown column says is kept in the
/// note. Cards of version 2.1, cards without a UID and cards that are not UTF-8 are made storable; all others are kept byte
/// for byte. A card whose UID the book has takes that card's place. What cannot be read is told and left out.
#[derive(clap::Args)]
pub(crate) struct Import {
    /// Whose cards they become
    name: String,
    /// A file, or a folder of files
    from: PathBuf,
    /// The book
    #[arg(long, default_value = DEFAULT_BOOK)]
    book: String,
    #[command(flatten)]
    at: At,
}

/// Export the cards of a book, as they are stored, one after another.
#[derive(clap::Args)]
pub(crate) struct Export {
    /// Whose cards
    name: String,
    /// The file; standard output if none is named
    to: Option<PathBuf>,
    /// The book
    #[arg(long, default_value = DEFAULT_BOOK)]
    book: String,
    #[command(flatten)]
    at: At,
}

impl Contacts {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Contacts::User(command) => command.run()?,
            Contacts::Token(command) => command.run()?,
            Contacts::Import(command) => return command.run(),
            Contacts::Export(command) => command.run()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl At {
    fn open(&self) -> anyhow::Result<Store> {
        let config = Config::read(&self.config)?;
        let Some(contacts) = config.contacts else {
            bail!("`{}` has no `[contacts]`", self.config.display());
        };
        // What others do meanwhile is seen.
        Ok(Store::open(contacts.store.value(), Servers::Many)?)
    }
}

impl User {
    fn run(self) -> anyhow::Result<()> {
        match self {
            User::Add { name, password, admin, at } => {
                let contacts = at.open()?;
                let password = password.read(&name)?;
                contacts.block_on(contacts.add_user(&name, &password))?;
                if admin {
                    contacts.block_on(contacts.set_admin(&name, true))?;
                }
                eprintln!("added `{name}`");
            }
            User::Passwd { name, password, at } => {
                let contacts = at.open()?;
                let password = password.read(&name)?;
                contacts.block_on(contacts.set_password(&name, &password))?;
                eprintln!("`{name}` signs in with the new password from now on");
            }
            User::List { at } => {
                let contacts = at.open()?;
                let root = contacts.block_on(contacts.root())?;
                let directory = root.directory();
                for principal in directory.principals() {
                    let books = directory.collections(principal.id);
                    let books = books.filter(|(_, header)| header.kind == Kind::Book);
                    let books: Vec<_> = books.map(|(name, _)| &**name).collect();
                    let admin = if principal.is_admin { " (admin)" } else { "" };
                    println!("{}{admin}\t{}", principal.name, books.join(" "));
                }
            }
            User::Remove { name, at } => {
                let contacts = at.open()?;
                contacts.block_on(contacts.remove_user(&name))?;
                eprintln!("removed `{name}`");
            }
        }
        Ok(())
    }
}

impl Password {
    fn read(&self, name: &str) -> anyhow::Result<String> {
        if self.password_stdin {
            let mut password = String::new();
            io::stdin().read_line(&mut password).context("standard input cannot be read")?;
            return Ok(password.trim_end_matches(['\r', '\n']).to_owned());
        }
        if !io::stdin().is_terminal() {
            return Err(
                anyhow!("there is no terminal to ask for a password").context("no password")
            );
        }
        let password = rpassword::prompt_password(format!("Password for {name}: "))?;
        match rpassword::prompt_password("Once more: ")? == password {
            true => Ok(password),
            false => bail!("the two passwords are not the same"),
        }
    }
}

impl Token {
    fn run(self) -> anyhow::Result<()> {
        match self {
            Token::Create { name, label, read_only, days, at } => {
                let contacts = at.open()?;
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
                let expires =
                    days.map(|days| now.as_secs().cast_signed() + i64::from(days) * 86_400);
                println!(
                    "{}",
                    contacts.block_on(contacts.add_token(&name, &label, read_only, expires))?
                );
            }
            Token::Revoke { name, label, at } => {
                let contacts = at.open()?;
                contacts.block_on(contacts.revoke_token(&name, &label))?;
                eprintln!("revoked `{label}`");
            }
        }
        Ok(())
    }
}

/// The book of somebody.
fn book(contacts: &Store, name: &str, book: &str) -> anyhow::Result<CollectionId> {
    let root = contacts.block_on(contacts.root())?;
    let directory = root.directory();
    let principal =
        directory.principal(name).ok_or_else(|| anyhow!("there is nobody called `{name}`"))?;
    let found = directory.collection(principal.id, book).filter(|header| header.kind == Kind::Book);
    Ok(found.ok_or_else(|| anyhow!("`{name}` has no book `{book}`"))?.id)
}

impl Import {
    fn run(self) -> anyhow::Result<ExitCode> {
        let contacts = self.at.open()?;
        let book = book(&contacts, &self.name, &self.book)?;
        let files = files(&self.from)?;
        let bar = ProgressBar::new(0).with_style(
            ProgressStyle::with_template("{pos}/{len} cards {wide_bar} {eta}")
                .expect("it is a template"),
        );
        let (mut cards, mut bad) = (Vec::new(), 0);
        for file in files {
            let bytes =
                fs::read(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
            let import = File::of(&bytes);
            for part in &import.unread {
                eprintln!("{}, {}: {}", file.display(), part.place, part.cause);
            }
            bad += import.unread.len();
            cards.extend(import.cards);
        }
        let all = cards.len();
        bar.set_length(all as u64);
        let imported = contacts
            .block_on(contacts.import(book, cards, |done| bar.set_position(done as u64)))?;
        bar.finish_and_clear();
        let Imported { created, replaced, unchanged } = imported;
        eprintln!(
            "imported {all} of {} cards: {created} new, {replaced} changed, {unchanged} known already",
            all + bad
        );
        Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// A file, or the files of a folder in the order of their names.
fn files(from: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let failed = || format!("cannot read `{}`", from.display());
    if !fs::metadata(from).with_context(failed)?.is_dir() {
        return Ok(vec![from.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(from).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        if extension == "vcf" || extension == "csv" {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

impl Export {
    fn run(self) -> anyhow::Result<()> {
        let contacts = self.at.open()?;
        let book = book(&contacts, &self.name, &self.book)?;
        let root = contacts.block_on(contacts.root_with(&[book]))?;
        let collection = root.collection(book).context("the book is gone")?;
        let mut out: Box<dyn Write> = match &self.to {
            Some(file) => {
                let failed = || format!("cannot write `{}`", file.display());
                Box::new(io::BufWriter::new(fs::File::create(file).with_context(failed)?))
            }
            None => Box::new(io::stdout().lock()),
        };
        for entry in collection.entries() {
            let bytes = contacts.block_on(contacts.bytes(collection, entry))?;
            let bytes = bytes.context("a card was changed meanwhile: export again")?;
            out.write_all(&ended(bytes))?;
        }
        out.flush()?;
        eprintln!("exported {} cards", collection.len());
        Ok(())
    }
}
