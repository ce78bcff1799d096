//! `[live]` and the tables it keeps: where the store is, and what its records look like.

use std::{collections::BTreeMap, str::FromStr};

use sakuin_live::{Durability, IndexKind, Metric, Schema, Type, VECTOR};

use super::{LiveStore, Table, read::route};
use crate::{
    ConfigError,
    document::{Section, Setting},
};

const LIVE_KEYS: [&str; 2] = ["path", "durability"];
const TABLE_KEYS: [&str; 4] = ["kind", "attributes", "vector", "route"];
const ATTRIBUTE_KEYS: [&str; 2] = ["type", "index"];
const VECTOR_KEYS: [&str; 2] = ["dimensions", "metric"];

/// What stands beside the values of a record, so that no attribute can be called so.
const RESERVED: [&str; 3] = ["id", "version", VECTOR];

const PATH_HINT: &str = "say where live tables are kept: `[live]` with `path = \"live.redb\"`";
const NAME_HINT: &str = "an attribute's name has 1 to 64 letters, digits and `_`";
const ATTRIBUTE_HINT: &str = "write `attributes.value = { type = \"int\", index = \"equal\" }`";

/// The store; refuses live tables without one.
pub(super) fn store(
    root: &Section<'_>,
    tables: &BTreeMap<String, Table>,
) -> Result<Option<LiveStore>, ConfigError> {
    let Some(section) = root.section("live")? else {
        let is_live = |table: &Table| matches!(table, Table::Live { .. });
        return match tables.values().any(is_live) {
            true => Err(root.missing("live", PATH_HINT)),
            false => Ok(None),
        };
    };
    section.only_known(&LIVE_KEYS)?;
    let path = section.required("path", PATH_HINT)?;
    if path.string()?.is_empty() {
        return Err(path.refused(PATH_HINT));
    }
    let durability = section.setting("durability");
    let durability = durability.map(|one| one_of(&one, &Durability::ALL.map(Durability::name)));
    Ok(Some(LiveStore {
        path: path.path()?,
        durability: durability.transpose()?.unwrap_or_default(),
    }))
}

/// A live table.
pub(super) fn table(section: &Section<'_>) -> Result<Table, ConfigError> {
    section.only_known(&TABLE_KEYS)?;
    let attributes = section.section("attributes")?;
    let vector = section.section("vector")?;
    let mut schema = Schema::new();
    for (name, setting) in attributes.iter().flat_map(Section::settings) {
        schema = attribute(schema, name, &setting)?;
    }
    if let Some(vector) = vector {
        schema = vectors(schema, &vector)?;
    }
    if schema.attributes().is_empty() {
        return Err(section.missing("attributes", ATTRIBUTE_HINT));
    }
    let route = route(section, "id", "a live table's keys are its ids: `/features/{id}`")?;
    Ok(Table::Live { schema, route })
}

fn attribute(schema: Schema, name: &str, setting: &Setting<'_>) -> Result<Schema, ConfigError> {
    if RESERVED.contains(&name) {
        let hint = match name == VECTOR {
            true => "vectors are described beside the attributes: `vector = { dimensions = 128 }`",
            false => "every record has one already; choose another name",
        };
        return Err(setting.refused_name(hint));
    }
    let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || name.len() > 64 || !name.bytes().all(good) {
        return Err(setting.refused_name(NAME_HINT));
    }
    let section = setting.section()?;
    section.only_known(&ATTRIBUTE_KEYS)?;
    let values = one_of(&section.required("type", ATTRIBUTE_HINT)?, &Type::ALL.map(Type::name))?;
    let index = section.setting("index").map(|index| match index.string()? {
        "equal" => Ok(IndexKind::Equal),
        "ordered" => Ok(IndexKind::Ordered),
        _ => Err(index.refused("write `equal`, or `ordered` to search by ranges too")),
    });
    Ok(schema.with(name, values, index.transpose()?))
}

fn vectors(schema: Schema, section: &Section<'_>) -> Result<Schema, ConfigError> {
    section.only_known(&VECTOR_KEYS)?;
    let dimensions = section.required("dimensions", "write `vector = { dimensions = 128 }`")?;
    let metric = section.setting("metric");
    let metric = metric.map(|metric| one_of(&metric, &Metric::ALL.map(Metric::name)));
    let dimensions = dimensions.integer(1..=4096)? as usize;
    Ok(schema.with_vectors(dimensions, metric.transpose()?.unwrap_or(Metric::Cosine)))
}

/// A value that is one of a few words.
fn one_of<T: FromStr>(setting: &Setting<'_>, names: &[&str]) -> Result<T, ConfigError> {
    let hint = || format!("write one of `{}`", names.join("`, `"));
    setting.string()?.parse().map_err(|_| setting.refused(&hint()))
}
