//! Contents: the command as other programs call it, a module a group of subcommands.

mod command;
mod japanese;
mod pack;
mod serve;
