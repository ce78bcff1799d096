//! `[grpc]`: what the gRPC door serves besides every table.

use sakuin::{
    ConfigError,
    document::{Section, Setting, nearest},
};
use sakuin_live::{Schema, Type};

/// What the gRPC door serves besides every table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrpcConfig {
    /// `db = { table, attribute }`
    pub db: Option<Db>,
}

/// The service `db.DB`, over one attribute of one live table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Db {
    /// The live table.
    pub table: String,
    /// Its attribute of whole numbers.
    pub attribute: String,
    /// Whether the attribute has an index; without one, each search looks at every record.
    pub is_indexed: bool,
}

const DB_HINT: &str = "write `db = { table = \"features\", attribute = \"value\" }`";

impl GrpcConfig {
    pub(super) fn of_section(
        section: &Section<'_>,
        tables: &sakuin::Config,
    ) -> Result<GrpcConfig, ConfigError> {
        section.only_known(&["db"])?;
        let db = section.section("db")?.map(|db| Db::of_section(&db, tables));
        Ok(GrpcConfig { db: db.transpose()? })
    }
}

impl Db {
    fn of_section(section: &Section<'_>, tables: &sakuin::Config) -> Result<Db, ConfigError> {
        section.only_known(&["table", "attribute"])?;
        let table = section.required("table", DB_HINT)?;
        let schema = schema(&table, tables)?;
        let attribute = section.required("attribute", DB_HINT)?;
        let name = attribute.string()?;
        let numbers = || schema.attributes().iter().filter(|one| one.values == Type::Int);
        let Some(found) = numbers().find(|one| one.name == name) else {
            let reason = "which is no attribute of type `int` of that table";
            let known = numbers().map(|one| one.name.as_str());
            let declare = format!("declare it: `attributes.{name} = {{ type = \"int\" }}`");
            return Err(attribute.refused_because(reason, &cure(name, known, declare)));
        };
        let (table, attribute) = (table.string()?.to_owned(), name.to_owned());
        Ok(Db { table, attribute, is_indexed: found.index.is_some() })
    }
}

/// The schema of the live table that a setting names.
fn schema<'t>(table: &Setting<'_>, tables: &'t sakuin::Config) -> Result<&'t Schema, ConfigError> {
    let name = table.string()?;
    tables.tables.get(name).and_then(|found| found.schema()).ok_or_else(|| {
        let live = tables.tables.iter().filter(|(_, table)| table.schema().is_some());
        let known = live.map(|(name, _)| name.as_str());
        let describe = "describe it: `[tables.NAME]` with `kind = \"live\"`".to_owned();
        table.refused_because("which is no live table", &cure(name, known, describe))
    })
}

/// The nearest of the names that would do, or what to do when there is none.
fn cure<'n>(name: &str, known: impl Iterator<Item = &'n str>, none: String) -> String {
    nearest(name, known).map_or(none, |nearest| format!("did you mean `{nearest}`?"))
}
