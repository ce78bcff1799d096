//! A configuration as TOML again: with every default, without any secret.

use std::fmt::{Display, Formatter, Result};

use sakuin::config::print::{path, quoted, size, time};

use sakuin_contacts::Servers;

use super::{Config, ContactsConfig, Db, ReaderConfig, ServerConfig};

impl Display for Config {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        writeln!(out, "[server]\n{}", self.server)?;
        if let Some(reader) = &self.reader {
            writeln!(out, "[reader]\n{reader}")?;
        }
        if let Some(contacts) = &self.contacts {
            writeln!(out, "[contacts]\n{contacts}")?;
        }
        if let Some(Db { table, attribute, .. }) = &self.grpc.db {
            let (table, attribute) = (quoted(table), quoted(attribute));
            writeln!(out, "[grpc]\ndb = {{ table = {table}, attribute = {attribute} }}\n")?;
        }
        self.tables.fmt(out)
    }
}

impl Display for ContactsConfig {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let servers = match self.servers {
            Servers::One => "one",
            Servers::Many => "many",
        };
        writeln!(
            out,
            "store = {}\npath = {}\nservers = \"{servers}\"",
            self.store,
            quoted(&self.path)
        )?;
        writeln!(out, "max_card = {}", size(self.max_card))?;
        match self.insecure {
            true => writeln!(out, "insecure = true"),
            false => Ok(()),
        }
    }
}

impl Display for ServerConfig {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let listen: Vec<_> =
            self.listen.iter().map(|address| quoted(&address.to_string())).collect();
        writeln!(out, "listen = [{}]", listen.join(", "))?;
        if let Some(admin) = &self.admin {
            writeln!(out, "admin = {}", quoted(&admin.to_string()))?;
        }
        if let Some(tls) = &self.tls {
            writeln!(out, "tls = {{ cert = {}, key = {} }}", path(&tls.cert), path(&tls.key))?;
        }
        if let Some(health) = &self.health {
            writeln!(out, "health = {}", quoted(health))?;
        }
        let sample = self.log.sample.map(|one_of| format!("sample = {one_of}"));
        let slow = self.log.slow.map(|slow| format!("slow = {}", time(slow)));
        let log: Vec<_> = sample.into_iter().chain(slow).collect();
        if !log.is_empty() {
            writeln!(out, "log = {{ {} }}", log.join(", "))?;
        }
        Ok(())
    }
}

impl Display for ReaderConfig {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        writeln!(out, "dictionary = {}", path(&self.dictionary))?;
        writeln!(out, "stories = {}", quoted(&format!("sqlite://{}", self.stories.display())))?;
        writeln!(out, "path = {}", quoted(&self.path))
    }
}
