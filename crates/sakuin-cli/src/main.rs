//! The command `sakuin`: reads arguments, calls one engine or door, prints, picks the exit code.
//!
//! Data goes to stdout, everything else to stderr. Exit codes: 0 done, 1 refused or absent, 2 wrong usage; those of
//! `publish` are in its module.

mod config;
mod contacts;
mod input;
mod japanese;
mod live;
mod pack;
mod record;
mod reload;
mod replay;
mod repository;
mod serve;
mod table;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// A lookup engine: pack a table into a file, ask it from the command line or over HTTP.
#[derive(Parser)]
#[command(name = "sakuin", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Pack(pack::Pack),
    Get(table::Get),
    Dump(table::Dump),
    Verify(table::Verify),
    Inspect(table::Inspect),
    #[command(subcommand)]
    Japanese(japanese::Japanese),
    #[command(subcommand)]
    Contacts(contacts::Contacts),
    #[command(subcommand)]
    Live(live::Live),
    #[command(subcommand)]
    Stories(serve::Stories),
    Serve(serve::Serve),
    Check(serve::Check),
    Config(config::Command),
    Reload(reload::Command),
    Publish(repository::Publish),
    Pull(repository::Pull),
    Versions(repository::Versions),
    Diff(repository::Diff),
    Promote(repository::Promote),
    Rollback(repository::Rollback),
    Pin(repository::Pin),
    Collect(repository::Collect),
    Upload(repository::Upload),
    Replay(replay::Command),
    Record(record::Command),
    /// Print a completion script: `sakuin completions bash > /etc/bash_completion.d/sakuin`.
    Completions {
        /// The shell to complete for.
        shell: clap_complete::Shell,
    },
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Pack(command) => command.run(),
        Command::Get(command) => command.run(),
        Command::Dump(command) => command.run(),
        Command::Verify(command) => command.run(),
        Command::Inspect(command) => command.run(),
        Command::Japanese(command) => command.run(),
        Command::Contacts(command) => command.run(),
        Command::Live(command) => command.run(),
        Command::Stories(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Check(command) => command.run(),
        Command::Config(command) => command.run(),
        Command::Reload(command) => command.run(),
        Command::Publish(command) => command.run(),
        Command::Pull(command) => command.run(),
        Command::Versions(command) => command.run(),
        Command::Diff(command) => command.run(),
        Command::Promote(command) => command.run(),
        Command::Rollback(command) => command.run(),
        Command::Pin(command) => command.run(),
        Command::Collect(command) => command.run(),
        Command::Upload(command) => command.run(),
        Command::Replay(command) => command.run(),
        Command::Record(command) => command.run(),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "sakuin", &mut std::io::stdout());
            Ok(ExitCode::SUCCESS)
        }
    };
    outcome.unwrap_or_else(|error| report(&error))
}

/// Prints an error once, its causes after it, and what helps.
fn report(error: &anyhow::Error) -> ExitCode {
    let is_closed_pipe = |cause: &(dyn std::error::Error + 'static)| {
        let io = cause.downcast_ref::<std::io::Error>();
        io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_closed_pipe) {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: {error:#}");
    if let Some(hint) = error.chain().find_map(hint) {
        eprintln!("hint: {hint}");
    }
    ExitCode::FAILURE
}

fn hint(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    macro_rules! hint_of {
        ($($error:ty),*) => {
            $(if let Some(error) = cause.downcast_ref::<$error>() {
                return error.hint().map(|hint| hint.to_string());
            })*
        };
    }
    hint_of!(
        input::Error,
        sakuin_pack::OpenError,
        sakuin_pack::ReadError,
        sakuin_pack::BuildError,
        sakuin_japanese::dictionary::Error,
        sakuin_japanese::read::Error,
        reload::Refused,
        live::Refused,
        sakuin_live::exchange::ImportError,
        sakuin_live::ValueError,
        sakuin_contacts::OpenError,
        sakuin_contacts::UserError,
        sakuin_publish::Error,
        sakuin::ConfigError,
        sakuin::OpenError,
        sakuin_server::ConfigError,
        sakuin_server::Error
    );
    None
}
