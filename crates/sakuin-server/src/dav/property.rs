//! What is said of a resource: properties that follow from what it is, and those that clients set.

use std::{borrow::Cow, sync::Arc};

use axum::http::StatusCode;
use bytes::Bytes;
use sakuin_contacts::{
    Card, Collation, Collection, Content, Entry, Kind, Lock, PartialProperty, Principal, Rights,
    Root, Version, converted, partial,
};

use super::{
    Dav,
    path::{Area, Place, Within},
    refusal::Refusal,
    xml::{CARD, CS, DAV, Element, element, escaped},
};
use crate::reply::http_date;

/// Something that has properties, as somebody sees it.
#[derive(Clone)]
pub(crate) enum Resource {
    /// A place that holds only others.
    Plain(Place),
    Principal(Arc<Principal>),
    /// The books of somebody.
    Home(Arc<Principal>),
    Collection(Within, Arc<Collection>, Rights),
    Entry(Within, Arc<Collection>, Arc<Entry>, Rights),
}

/// Who asks, and of what moment.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) dav: Arc<Dav>,
    pub(crate) root: Arc<Root>,
    pub(crate) principal: Arc<Principal>,
    pub(crate) now: i64,
}

/// A property's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) namespace: Cow<'static, str>,
    pub(crate) name: Cow<'static, str>,
}

/// Which properties are asked for.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    /// The names alone.
    Names,
    /// What WebDAV itself defines and what clients set, and these.
    All(Vec<Property>),
    These(Vec<Property>),
}

/// A property that is asked for.
#[derive(Clone, Debug)]
pub(crate) enum Property {
    Named(Name),
    AddressData(AddressData),
}

/// A card as it is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressData {
    version: Option<Version>,
    parts: Option<Vec<PartialProperty>>,
}

const fn dav(name: &'static str) -> Name {
    Name { namespace: Cow::Borrowed(DAV), name: Cow::Borrowed(name) }
}

const fn card(name: &'static str) -> Name {
    Name { namespace: Cow::Borrowed(CARD), name: Cow::Borrowed(name) }
}

/// What `allprop` tells: the properties of RFC 4918.
static COMMON: [Name; 9] = [
    dav("resourcetype"),
    dav("displayname"),
    dav("getetag"),
    dav("getcontenttype"),
    dav("getcontentlength"),
    dav("getlastmodified"),
    dav("creationdate"),
    dav("supportedlock"),
    dav("lockdiscovery"),
];

/// What is told when it is asked for by name.
static OTHERS: [Name; 29] = [
    dav("current-user-principal"),
    dav("principal-URL"),
    dav("alternate-URI-set"),
    dav("group-member-set"),
    dav("group-membership"),
    dav("principal-collection-set"),
    dav("owner"),
    dav("group"),
    dav("supported-privilege-set"),
    dav("current-user-privilege-set"),
    dav("acl"),
    dav("acl-restrictions"),
    dav("inherited-acl-set"),
    dav("supported-report-set"),
    dav("sync-token"),
    dav("add-member"),
    dav("quota-available-bytes"),
    dav("quota-used-bytes"),
    dav("resource-id"),
    dav("parent-set"),
    card("addressbook-home-set"),
    card("principal-address"),
    card("addressbook-description"),
    card("supported-address-data"),
    card("max-resource-size"),
    card("supported-collation-set"),
    card("max-image-size"),
    Name { namespace: Cow::Borrowed(CS), name: Cow::Borrowed("getctag") },
    Name { namespace: Cow::Borrowed(CS), name: Cow::Borrowed("me-card") },
];

impl Name {
    pub(crate) fn of(element: &Element) -> Name {
        Name { namespace: element.namespace.clone().into(), name: element.name.clone().into() }
    }

    fn element(&self, inner: &str) -> String {
        element(&self.namespace, &self.name, inner)
    }

    /// Whether a client may set it.
    pub(crate) fn is_protected(&self) -> bool {
        let is_free = *self == dav("displayname") || *self == card("addressbook-description");
        !is_free
            && (COMMON.contains(self) || OTHERS.contains(self) || *self == card("address-data"))
    }
}

impl Asked {
    /// What a PROPFIND or a report asks for; everything, if it says nothing.
    pub(crate) fn of(element: Option<&Element>) -> Result<Asked, Refusal> {
        let Some(element) = element else { return Ok(Asked::All(Vec::new())) };
        if let Some(properties) = element.child(DAV, "prop") {
            return Ok(Asked::These(Property::all(properties)?));
        }
        if element.child(DAV, "propname").is_some() {
            return Ok(Asked::Names);
        }
        let included = element.child(DAV, "include").map(Property::all).transpose()?;
        Ok(Asked::All(included.unwrap_or_default()))
    }

    /// Whether cards are asked for.
    pub(crate) fn wants_bytes(&self) -> bool {
        let properties = match self {
            Asked::Names => return false,
            Asked::All(properties) | Asked::These(properties) => properties,
        };
        properties.iter().any(|property| matches!(property, Property::AddressData(_)))
    }
}

impl Property {
    fn all(properties: &Element) -> Result<Vec<Property>, Refusal> {
        let property = |element: &Element| match element.is(CARD, "address-data") {
            true => AddressData::of(element).map(Property::AddressData),
            false => Ok(Property::Named(Name::of(element))),
        };
        properties.children().map(property).collect()
    }
}

impl AddressData {
    fn of(element: &Element) -> Result<AddressData, Refusal> {
        let unsupported = || {
            Refusal::forbidden(
                "cards are not kept in that form",
                "ask for text/vcard in version 3.0 or 4.0",
            )
            .of(CARD, "supported-address-data", "")
        };
        if element
            .attribute("content-type")
            .is_some_and(|it| !it.eq_ignore_ascii_case("text/vcard"))
        {
            return Err(unsupported());
        }
        let version =
            element.attribute("version").map(|version| version.parse().map_err(|()| unsupported()));
        let is_whole = element.child(CARD, "allprop").is_some();
        let part = |child: &Element| {
            let name = child
                .attribute("name")
                .ok_or_else(|| Refusal::body("a `prop` of `address-data` has no name"))?;
            Ok(PartialProperty {
                name: name.to_owned(),
                with_value: child.attribute("novalue") != Some("yes"),
            })
        };
        let parts = element.children().filter(|child| child.is(CARD, "prop")).map(part);
        let parts = parts.collect::<Result<Vec<_>, Refusal>>()?;
        let parts = (!is_whole && !parts.is_empty()).then_some(parts);
        Ok(AddressData { version: version.transpose()?, parts })
    }

    fn xml(&self, bytes: &Bytes) -> String {
        let card =
            self.version.and_then(|version| Some((Card::parse(bytes.clone()).ok()?, version)));
        let bytes = match card {
            Some((card, version)) => converted(&card, version),
            None => bytes.clone(),
        };
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        match &self.parts {
            Some(parts) => escaped(&partial(text, parts)),
            None => escaped(text),
        }
    }
}

impl Resource {
    pub(crate) fn href(&self, prefix: &str) -> String {
        match self {
            Resource::Plain(place) => place.href(prefix),
            Resource::Principal(principal) => {
                Place::Principal(principal.name.to_string()).href(prefix)
            }
            Resource::Home(principal) => Place::Home(principal.name.to_string()).href(prefix),
            Resource::Collection(within, ..) => within.href(prefix, true),
            Resource::Entry(within, _, entry, _) => within.href(prefix, entry.is_folder()),
        }
    }

    /// The properties that clients set of it.
    fn set(&self) -> Vec<(Name, String)> {
        let (within, collection) = match self {
            Resource::Collection(within, collection, _)
            | Resource::Entry(within, collection, ..) => (within, collection),
            _ => return Vec::new(),
        };
        let properties = collection.properties(&within.path);
        let name = |namespace: &str, name: &str| Name {
            namespace: namespace.to_owned().into(),
            name: name.to_owned().into(),
        };
        properties.map(|(key, value)| (name(&key.namespace, &key.name), value.to_owned())).collect()
    }

    fn rights(&self) -> Rights {
        match self {
            Resource::Collection(.., rights) | Resource::Entry(.., rights) => *rights,
            _ => Rights::Read,
        }
    }
}

impl View {
    fn path(&self) -> &str {
        &self.dav.path
    }

    fn hrefs<'p>(&self, places: impl IntoIterator<Item = &'p Place>) -> String {
        places.into_iter().map(|place| self.href(&place.href(self.path()))).collect()
    }

    fn href(&self, address: &str) -> String {
        element(DAV, "href", &escaped(address))
    }

    fn principal_href(&self, name: &str) -> String {
        self.hrefs(&[Place::Principal(name.to_owned())])
    }

    /// The part of an answer that is about one resource. `bytes` are those of a card that is asked for.
    pub(crate) fn response(
        &self,
        resource: &Resource,
        asked: &Asked,
        bytes: Option<&Bytes>,
        is_minimal: bool,
    ) -> String {
        let (mut found, mut missing) = (String::new(), String::new());
        match asked {
            Asked::Names => {
                let set = resource.set();
                let names =
                    COMMON.iter().chain(&OTHERS).filter(|name| self.live(resource, name).is_some());
                names
                    .chain(set.iter().map(|(name, _)| name))
                    .for_each(|name| found.push_str(&name.element("")));
            }
            Asked::All(included) => {
                let set = resource.set();
                for name in &COMMON {
                    if !set.iter().any(|(own, _)| own == name)
                        && let Some(value) = self.live(resource, name)
                    {
                        found.push_str(&name.element(&value));
                    }
                }
                set.iter().for_each(|(_, value)| found.push_str(value));
                included.iter().for_each(|property| {
                    self.push(resource, property, bytes, &mut found, &mut missing);
                });
            }
            Asked::These(properties) => {
                properties.iter().for_each(|property| {
                    self.push(resource, property, bytes, &mut found, &mut missing);
                });
            }
        }
        let mut parts = String::new();
        if !found.is_empty() || missing.is_empty() || is_minimal {
            parts.push_str(&propstat(&found, StatusCode::OK, ""));
        }
        if !missing.is_empty() && !is_minimal {
            parts.push_str(&propstat(&missing, StatusCode::NOT_FOUND, ""));
        }
        element(DAV, "response", &format!("{}{parts}", self.href(&resource.href(self.path()))))
    }

    fn push(
        &self,
        resource: &Resource,
        property: &Property,
        bytes: Option<&Bytes>,
        found: &mut String,
        missing: &mut String,
    ) {
        match property {
            Property::AddressData(data) => match bytes {
                Some(bytes) => found.push_str(&element(CARD, "address-data", &data.xml(bytes))),
                None => missing.push_str(&element(CARD, "address-data", "")),
            },
            Property::Named(name) => {
                if let Resource::Collection(within, collection, _)
                | Resource::Entry(within, collection, ..) = resource
                    && let Some(value) =
                        collection.property(&within.path, &name.namespace, &name.name)
                {
                    return found.push_str(value);
                }
                match self.live(resource, name) {
                    Some(value) => found.push_str(&name.element(&value)),
                    None => missing.push_str(&name.element("")),
                }
            }
        }
    }

    /// What follows from what a resource is, as XML; none if it has no such property.
    pub(crate) fn live(&self, resource: &Resource, name: &Name) -> Option<String> {
        match (&*name.namespace, &*name.name) {
            (DAV, name) => self.live_dav(resource, name),
            (CARD, name) => self.live_card(resource, name),
            (CS, "getctag") => match resource {
                Resource::Collection(_, collection, _) => {
                    Some(escaped(&format!("{:?}", collection.token().to_string())))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn live_dav(&self, resource: &Resource, name: &str) -> Option<String> {
        let entry = match resource {
            Resource::Entry(_, _, entry, _) => Some(entry),
            _ => None,
        };
        let file = entry.filter(|entry| !entry.is_folder());
        match name {
            "resourcetype" => Some(match resource {
                Resource::Entry(_, _, entry, _) if !entry.is_folder() => String::new(),
                Resource::Principal(_) => {
                    element(DAV, "collection", "") + &element(DAV, "principal", "")
                }
                Resource::Collection(_, collection, _) if collection.kind == Kind::Book => {
                    element(DAV, "collection", "") + &element(CARD, "addressbook", "")
                }
                _ => element(DAV, "collection", ""),
            }),
            "displayname" => match resource {
                Resource::Principal(principal) | Resource::Home(principal) => {
                    Some(escaped(&principal.display_name))
                }
                Resource::Collection(within, ..) => match &*within.collection {
                    "" => Some(escaped(&within.owner)),
                    name => Some(escaped(name)),
                },
                _ => None,
            },
            "getetag" => file.map(|entry| escaped(&entry.etag.to_string())),
            "getcontentlength" => file.map(|entry| entry.size.to_string()),
            "getcontenttype" => file.map(|entry| escaped(content_type(entry))),
            "getlastmodified" => entry.map(|entry| http_date(entry.modified)),
            "creationdate" => None,
            "current-user-principal" => Some(self.principal_href(&self.principal.name)),
            "principal-URL" => match resource {
                Resource::Principal(principal) => Some(self.principal_href(&principal.name)),
                _ => None,
            },
            "alternate-URI-set" | "group-member-set" | "group-membership" => {
                matches!(resource, Resource::Principal(_)).then(String::new)
            }
            "principal-collection-set" => Some(self.hrefs(&[Place::Principals])),
            "owner" => match resource {
                Resource::Principal(principal) | Resource::Home(principal) => {
                    Some(self.principal_href(&principal.name))
                }
                Resource::Collection(within, ..) | Resource::Entry(within, ..) => {
                    Some(self.principal_href(&within.owner))
                }
                Resource::Plain(_) => None,
            },
            "group" => Some(String::new()),
            "supported-privilege-set" => Some(PRIVILEGES.to_owned()),
            "current-user-privilege-set" => Some(self.privileges(resource)),
            "acl" => self.acl(resource),
            "acl-restrictions" => {
                Some(format!("{}{}", element(DAV, "grant-only", ""), element(DAV, "no-invert", "")))
            }
            "inherited-acl-set" => match resource {
                Resource::Entry(within, ..) => {
                    Some(self.href(&within.at("").href(self.path(), true)))
                }
                _ => Some(String::new()),
            },
            "supported-report-set" => Some(reports(resource)),
            "sync-token" => match resource {
                Resource::Collection(_, collection, _) => Some(escaped(&sync_token(collection))),
                _ => None,
            },
            "add-member" => match resource {
                Resource::Collection(within, collection, Rights::Write)
                    if collection.kind == Kind::Book =>
                {
                    Some(self.href(&within.href(self.path(), true)))
                }
                _ => None,
            },
            "quota-used-bytes" => match resource {
                Resource::Collection(_, collection, _) => {
                    Some(collection.entries().map(|entry| entry.size).sum::<u64>().to_string())
                }
                _ => None,
            },
            "resource-id" => match resource {
                Resource::Collection(_, collection, _) => {
                    Some(self.href(&format!("urn:sakuin:collection:{}", collection.id)))
                }
                _ => None,
            },
            "supportedlock" => match resource {
                Resource::Collection(..) | Resource::Entry(..) => Some(LOCKS.to_owned()),
                _ => None,
            },
            "lockdiscovery" => match resource {
                Resource::Collection(within, collection, _)
                | Resource::Entry(within, collection, ..) => {
                    let locks = collection.locks(&within.path, self.now);
                    Some(locks.map(|lock| self.active_lock(within, lock)).collect())
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn live_card(&self, resource: &Resource, name: &str) -> Option<String> {
        let is_book = matches!(resource, Resource::Collection(_, collection, _) if collection.kind == Kind::Book);
        match name {
            "addressbook-home-set" => match resource {
                Resource::Principal(principal) => {
                    let homes = self.homes(principal);
                    Some(self.hrefs(&homes))
                }
                _ => None,
            },
            "supported-address-data" if is_book => Some(
                ["3.0", "4.0"]
                    .map(|version| format!("<C:address-data-type content-type=\"text/vcard\" version=\"{version}\"/>"))
                    .concat(),
            ),
            "max-resource-size" if is_book => Some(self.dav.card_bytes_max.to_string()),
            "supported-collation-set" if is_book => {
                let collations = Collation::ALL.iter().map(|one| element(CARD, "supported-collation", one.name()));
                Some(collations.collect())
            }
            _ => None,
        }
    }

    /// The homes that have something for somebody: the own one first.
    fn homes(&self, principal: &Principal) -> Vec<Place> {
        let own = Place::Home(principal.name.to_string());
        let directory = self.root.directory();
        let mut homes = vec![own];
        for (owner, _, header) in directory.all_collections() {
            if owner != principal.id
                && header.kind == Kind::Book
                && directory.shares(header.id).any(|(to, _)| to == principal.id)
                && let Some(owner) = directory.principal_of(owner)
            {
                let home = Place::Home(owner.name.to_string());
                if !homes.contains(&home) {
                    homes.push(home);
                }
            }
        }
        homes
    }

    fn privileges(&self, resource: &Resource) -> String {
        let is_own = match resource {
            Resource::Principal(of) | Resource::Home(of) => {
                of.id == self.principal.id || self.principal.is_admin
            }
            _ => resource.rights() == Rights::Write,
        };
        let is_owner = match resource {
            Resource::Collection(within, ..) | Resource::Entry(within, ..) => {
                *within.owner == *self.principal.name || self.principal.is_admin
            }
            _ => is_own,
        };
        let mut names = vec!["read", "read-current-user-privilege-set"];
        if is_own {
            names.extend([
                "write",
                "write-content",
                "write-properties",
                "bind",
                "unbind",
                "unlock",
            ]);
        }
        if is_owner && is_own {
            names.extend(["all", "read-acl", "write-acl"]);
        }
        names.into_iter().map(|name| element(DAV, "privilege", &element(DAV, name, ""))).collect()
    }

    /// Who may do what, if it is the business of who asks.
    fn acl(&self, resource: &Resource) -> Option<String> {
        let (Resource::Collection(within, collection, _) | Resource::Entry(within, collection, ..)) =
            resource
        else {
            return None;
        };
        if *within.owner != *self.principal.name && !self.principal.is_admin {
            return None;
        }
        let privilege = |name: &str| element(DAV, "privilege", &element(DAV, name, ""));
        let mut aces = format!(
            "<D:ace><D:principal><D:property><D:owner/></D:property></D:principal><D:grant>{}</D:grant><D:protected/></D:ace>",
            privilege("all")
        );
        for (id, rights) in self.root.directory().shares(collection.id) {
            let Some(principal) = self.root.directory().principal_of(id) else { continue };
            let granted = match rights {
                Rights::Read => privilege("read"),
                Rights::Write => privilege("read") + &privilege("write"),
            };
            aces.push_str(&format!(
                "<D:ace><D:principal>{}</D:principal><D:grant>{granted}</D:grant></D:ace>",
                self.principal_href(&principal.name)
            ));
        }
        Some(aces)
    }

    pub(crate) fn active_lock(&self, within: &Within, lock: &Lock) -> String {
        let scope = if lock.is_shared { "shared" } else { "exclusive" };
        let depth = if lock.is_deep { "infinity" } else { "0" };
        let root = within.at(&lock.path);
        let owner = match &*lock.owner {
            "" => String::new(),
            owner => element(DAV, "owner", owner),
        };
        format!(
            "<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope><D:{scope}/></D:lockscope>\
             <D:depth>{depth}</D:depth>{owner}<D:timeout>Second-{}</D:timeout>\
             <D:locktoken>{}</D:locktoken><D:lockroot>{}</D:lockroot></D:activelock>",
            (lock.expires - self.now).max(0),
            self.href(&lock.token),
            self.href(&root.href(self.path(), false)),
        )
    }
}

/// Properties that have one status.
pub(crate) fn propstat(properties: &str, status: StatusCode, error: &str) -> String {
    format!(
        "<D:propstat><D:prop>{properties}</D:prop>{}{error}</D:propstat>",
        status_element(status)
    )
}

pub(crate) fn status_element(status: StatusCode) -> String {
    let reason = status.canonical_reason().unwrap_or_default();
    format!("<D:status>HTTP/1.1 {} {reason}</D:status>", status.as_u16())
}

/// The token of a collection's state, as a URI.
pub(crate) fn sync_token(collection: &Collection) -> String {
    format!("{SYNC}{}", collection.token())
}

/// What sync tokens begin with.
pub(crate) const SYNC: &str = "http://sakuin/ns/sync/";

/// The type of a resource's bytes.
/// The type of every card.
pub(crate) const CARD_TYPE: &str = "text/vcard; charset=utf-8";

pub(crate) fn content_type(entry: &Entry) -> &str {
    match &entry.content {
        Content::Card { .. } => CARD_TYPE,
        Content::File { content_type } if !content_type.is_empty() => content_type,
        _ => "application/octet-stream",
    }
}

fn reports(resource: &Resource) -> String {
    let report = |namespace, name| {
        element(DAV, "supported-report", &element(DAV, "report", &element(namespace, name, "")))
    };
    let mut reports = [
        "expand-property",
        "principal-match",
        "principal-property-search",
        "principal-search-property-set",
        "acl-principal-prop-set",
    ]
    .map(|name| report(DAV, name))
    .concat();
    if let Resource::Collection(_, collection, _) = resource {
        reports.push_str(&report(DAV, "sync-collection"));
        if collection.kind == Kind::Book {
            reports.push_str(&report(CARD, "addressbook-query"));
            reports.push_str(&report(CARD, "addressbook-multiget"));
        }
    }
    reports
}

const LOCKS: &str = "<D:lockentry><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>\
    <D:lockentry><D:lockscope><D:shared/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>";

const PRIVILEGES: &str = "<D:supported-privilege><D:privilege><D:all/></D:privilege>\
    <D:description xml:lang=\"en\">Everything</D:description>\
    <D:supported-privilege><D:privilege><D:read/></D:privilege><D:description xml:lang=\"en\">Look</D:description>\
    <D:supported-privilege><D:privilege><D:read-current-user-privilege-set/></D:privilege><D:abstract/>\
    <D:description xml:lang=\"en\">See the own rights</D:description></D:supported-privilege></D:supported-privilege>\
    <D:supported-privilege><D:privilege><D:write/></D:privilege><D:description xml:lang=\"en\">Change</D:description>\
    <D:supported-privilege><D:privilege><D:write-content/></D:privilege><D:abstract/>\
    <D:description xml:lang=\"en\">Change what is there</D:description></D:supported-privilege>\
    <D:supported-privilege><D:privilege><D:write-properties/></D:privilege><D:abstract/>\
    <D:description xml:lang=\"en\">Set properties</D:description></D:supported-privilege>\
    <D:supported-privilege><D:privilege><D:bind/></D:privilege><D:abstract/>\
    <D:description xml:lang=\"en\">Add</D:description></D:supported-privilege>\
    <D:supported-privilege><D:privilege><D:unbind/></D:privilege><D:abstract/>\
    <D:description xml:lang=\"en\">Remove</D:description></D:supported-privilege></D:supported-privilege>\
    <D:supported-privilege><D:privilege><D:read-acl/></D:privilege><D:abstract/>\
    <D:description xml:lang=\"en\">See who may do what</D:description></D:supported-privilege>\
    <D:supported-privilege><D:privilege><D:write-acl/></D:privilege><D:abstract/>\
    <D:description xml:lang=\"en\">Say who may do what</D:description></D:supported-privilege></D:supported-privilege>";

/// Whether books or files are asked for.
pub(crate) fn kind_of(area: Area) -> Kind {
    match area {
        Area::Books => Kind::Book,
        Area::Files => Kind::Files,
    }
}
