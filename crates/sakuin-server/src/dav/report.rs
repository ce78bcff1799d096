//! REPORT: what changed, which cards are wanted, and who there is.

use std::sync::Arc;

use axum::http::{HeaderMap, Response, StatusCode};
use sakuin_contacts::{
    Changed, Collation, Collection, Entry, Filter, Kind, LineConditions, MatchKind,
    ParameterFilter, PropertyFilter, Rights, SyncToken, Test, TextMatch, Wanted,
};

use super::{
    Request,
    condition::{Depth, path_of},
    multistatus::{Item, multistatus},
    path::{Place, Within},
    property::{Asked, Name, Resource, SYNC},
    refusal::Refusal,
    xml::{CARD, DAV, Element, element, escaped},
};
use crate::body::Body;

/// Addresses of one multiget.
const HREFS_MAX: usize = 100_000;

impl Request {
    pub(crate) async fn report(&self, body: Option<Element>) -> Result<Response<Body>, Refusal> {
        let report = body.ok_or_else(|| Refusal::body("there is none"))?;
        match (&*report.namespace, &*report.name) {
            (DAV, "sync-collection") => self.sync(&report).await,
            (CARD, "addressbook-query") => self.query(&report).await,
            (CARD, "addressbook-multiget") => self.multiget(&report).await,
            (DAV, "expand-property") => self.expand(&report).await,
            (DAV, "principal-match") => self.principal_match(&report).await,
            (DAV, "principal-property-search") => self.principal_search(&report),
            (DAV, "principal-search-property-set") => Ok(search_properties()),
            (DAV, "acl-principal-prop-set") => self.acl_principals(&report).await,
            _ => Err(Refusal::forbidden(
                "there is no such report here",
                "`supported-report-set` names those there are",
            )
            .of(DAV, "supported-report", "")),
        }
    }

    /// The collection that a report is about, as its reader sees it.
    fn collection(&self) -> Result<(Within, Arc<Collection>, Rights), Refusal> {
        match self.resource()? {
            Resource::Collection(within, collection, rights) => Ok((within, collection, rights)),
            _ => Err(Refusal::forbidden(
                "this report is about a book",
                "send it to the address of one",
            )
            .of(DAV, "supported-report", "")),
        }
    }

    async fn sync(&self, report: &Element) -> Result<Response<Body>, Refusal> {
        // Some clients send a depth of 1, which means the same here.
        if Depth::of(&self.headers, Depth::Zero)? == Depth::Infinity {
            return Err(Refusal::bad_request("the depth is infinite", "send `Depth: 0`"));
        }
        let (within, collection, rights) = self.collection()?;
        let token = report
            .child(DAV, "sync-token")
            .ok_or_else(|| Refusal::body("it has no `sync-token`"))?
            .text();
        let token = match token.trim() {
            "" => None,
            token => {
                let unknown = || Refusal::from(sakuin_contacts::UnknownToken);
                Some(token.strip_prefix(SYNC).ok_or_else(unknown)?.parse::<SyncToken>()?)
            }
        };
        let limit = limit(report, DAV)?;
        let changes = collection.changes(token, limit)?;
        let asked = match report.child(DAV, "prop") {
            Some(_) => Asked::of(Some(report))?,
            None => return Err(Refusal::body("it has no `prop`")),
        };
        let prefix = &self.dav.path;
        let item = |changed| match changed {
            Changed::There(entry) => Item::Resource(Resource::Entry(
                within.at(&entry.name),
                collection.clone(),
                entry,
                rights,
            )),
            Changed::Gone(name) => Item::Status(
                within.at(&name).href(prefix, false),
                StatusCode::NOT_FOUND,
                String::new(),
            ),
        };
        let mut items: Vec<_> = changes.changed.into_iter().map(item).collect();
        if changes.is_cut {
            items.push(self.too_many(&within));
        }
        let end = element(DAV, "sync-token", &escaped(&format!("{SYNC}{}", changes.token)));
        Ok(multistatus(self.view(), asked, items, &end, self.is_minimal()))
    }

    fn too_many(&self, within: &Within) -> Item {
        let error = element(DAV, "error", &element(DAV, "number-of-matches-within-limits", ""));
        Item::Status(within.href(&self.dav.path, true), StatusCode::INSUFFICIENT_STORAGE, error)
    }

    async fn query(&self, report: &Element) -> Result<Response<Body>, Refusal> {
        let resource = self.resource()?;
        let filter =
            report.child(CARD, "filter").ok_or_else(|| Refusal::body("it has no `filter`"))?;
        let filter = Arc::new(filter_of(filter)?);
        let limit = limit(report, CARD)?.unwrap_or(usize::MAX);
        let asked = Asked::of(Some(report))?;
        let books: Vec<(Within, Arc<Collection>, Rights)> = match resource {
            Resource::Collection(within, collection, rights) if collection.kind == Kind::Book => {
                // A book's cards lie one below it.
                match Depth::of(&self.headers, Depth::Zero)? {
                    Depth::Zero => Vec::new(),
                    _ => vec![(within, collection, rights)],
                }
            }
            Resource::Entry(within, collection, entry, rights) if collection.kind == Kind::Book => {
                let wanted = filter.matches(entry.lean());
                let item = Item::Resource(Resource::Entry(within, collection, entry, rights));
                let items = if wanted { vec![item] } else { Vec::new() };
                return Ok(multistatus(self.view(), asked, items, "", self.is_minimal()));
            }
            _ => {
                return Err(Refusal::forbidden(
                    "this report is about a book",
                    "send it to the address of one",
                )
                .of(DAV, "supported-report", ""));
            }
        };
        let mut items = Vec::new();
        for (within, collection, rights) in books {
            let found = {
                let (collection, filter) = (collection.clone(), filter.clone());
                let seek = move || collection.query(&filter, limit.saturating_add(1));
                self.dav.pool.run(seek).await?
            };
            let is_cut = found.len() > limit;
            let resource = |entry: Arc<Entry>| {
                Resource::Entry(within.at(&entry.name), collection.clone(), entry, rights)
            };
            items
                .extend(found.into_iter().take(limit).map(|entry| Item::Resource(resource(entry))));
            if is_cut {
                items.push(self.too_many(&within));
            }
        }
        Ok(multistatus(self.view(), asked, items, "", self.is_minimal()))
    }

    async fn multiget(&self, report: &Element) -> Result<Response<Body>, Refusal> {
        let (within, collection, rights) = match self.resource()? {
            Resource::Collection(within, collection, rights)
            | Resource::Entry(within, collection, _, rights) => (within.at(""), collection, rights),
            _ => {
                return Err(Refusal::forbidden(
                    "this report is about a book",
                    "send it to the address of one",
                )
                .of(DAV, "supported-report", ""));
            }
        };
        let asked = Asked::of(Some(report))?;
        let hrefs: Vec<_> = report
            .children()
            .filter(|child| child.is(DAV, "href"))
            .map(super::xml::Element::text)
            .collect();
        if hrefs.len() > HREFS_MAX {
            return Err(Refusal::forbidden(
                "it names too many addresses",
                format!("name {HREFS_MAX} at a time"),
            )
            .of(DAV, "number-of-matches-within-limits", ""));
        }
        let prefix = &self.dav.path;
        let item = |href: String| {
            let place = Place::parse(prefix, &path_of(href.trim()));
            let entry = match &place {
                Ok(Place::In(of)) if of.at("") == within => collection.entry(&of.path),
                _ => None,
            };
            match (place, entry) {
                (Ok(Place::In(of)), Some(entry)) => {
                    Item::Resource(Resource::Entry(of, collection.clone(), entry.clone(), rights))
                }
                _ => Item::Status(href.trim().to_owned(), StatusCode::NOT_FOUND, String::new()),
            }
        };
        let items = hrefs.into_iter().map(item).collect();
        Ok(multistatus(self.view(), asked, items, "", self.is_minimal()))
    }

    /// The properties of a resource, with those of the resources that they name (RFC 3253, section 3.8).
    async fn expand(&self, report: &Element) -> Result<Response<Body>, Refusal> {
        let view = self.view();
        let resource = self.resource()?;
        let text = view.expanded(&resource, report, 0);
        Ok(super::multistatus_of(&text))
    }

    /// Of the resources below, those that are the one who asks (RFC 3744, section 9.3).
    async fn principal_match(&self, report: &Element) -> Result<Response<Body>, Refusal> {
        let asked = match report.child(DAV, "prop") {
            Some(_) => Asked::of(Some(report))?,
            None => Asked::These(Vec::new()),
        };
        let items = match self.resource()? {
            Resource::Plain(Place::Root | Place::Principals) => {
                vec![Item::Resource(Resource::Principal(self.who.principal.clone()))]
            }
            Resource::Principal(of) if of.id == self.who.principal.id => {
                vec![Item::Resource(Resource::Principal(of))]
            }
            _ => Vec::new(),
        };
        Ok(multistatus(self.view(), asked, items, "", self.is_minimal()))
    }

    /// Who has a text in a property (RFC 3744, section 9.4).
    fn principal_search(&self, report: &Element) -> Result<Response<Body>, Refusal> {
        let asked = match report.child(DAV, "prop") {
            Some(_) => Asked::of(Some(report))?,
            None => Asked::These(Vec::new()),
        };
        let mut searches = Vec::new();
        for search in report.children().filter(|child| child.is(DAV, "property-search")) {
            let names = search
                .child(DAV, "prop")
                .map(|names| names.children().cloned().collect::<Vec<_>>());
            let text = search.child(DAV, "match").map(Element::text).unwrap_or_default();
            searches.push((
                names.unwrap_or_default(),
                Collation::UnicodeCasemap.fold(&text).into_owned(),
            ));
        }
        if searches.is_empty() {
            return Err(Refusal::body("it has no `property-search`"));
        }
        let is_any = report.attribute("test") == Some("anyof");
        let directory = self.root.directory();
        let found = directory.principals().filter(|principal| {
            let name = Collation::UnicodeCasemap.fold(&principal.display_name).into_owned();
            let login = Collation::UnicodeCasemap.fold(&principal.name).into_owned();
            let has = |(names, text): &(Vec<Element>, String)| {
                names.iter().all(|of| match &*of.name {
                    "displayname" => name.contains(text) || login.contains(text),
                    _ => false,
                })
            };
            if is_any { searches.iter().any(has) } else { searches.iter().all(has) }
        });
        let items =
            found.map(|principal| Item::Resource(Resource::Principal(principal.clone()))).collect();
        Ok(multistatus(self.view(), asked, items, "", self.is_minimal()))
    }

    /// Those whom the rights of a resource name (RFC 3744, section 9.2).
    async fn acl_principals(&self, report: &Element) -> Result<Response<Body>, Refusal> {
        let (within, collection, _) = self.collection()?;
        let asked = Asked::of(Some(report))?;
        let directory = self.root.directory();
        let owner = directory.principal(&within.owner);
        let others =
            directory.shares(collection.id).filter_map(|(id, _)| directory.principal_of(id));
        let items = owner
            .into_iter()
            .chain(others)
            .map(|of| Item::Resource(Resource::Principal(of.clone())))
            .collect();
        Ok(multistatus(self.view(), asked, items, "", self.is_minimal()))
    }

    fn is_minimal(&self) -> bool {
        is_minimal(&self.headers)
    }
}

/// Whether a client wants no more than it needs (RFC 8144).
pub(crate) fn is_minimal(headers: &HeaderMap) -> bool {
    let of = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    of("prefer").split([',', ';']).any(|one| one.trim().eq_ignore_ascii_case("return=minimal"))
        || of("brief") == "t"
}

/// How many matches a client wants at most.
fn limit(report: &Element, namespace: &str) -> Result<Option<usize>, Refusal> {
    let Some(limit) = report.child(namespace, "limit") else { return Ok(None) };
    let number =
        limit.child(namespace, "nresults").map(|number| number.text().trim().parse::<usize>());
    match number {
        Some(Ok(number)) if number > 0 => Ok(Some(number)),
        _ => Err(Refusal::body("`nresults` is no number from 1")),
    }
}

fn search_properties() -> Response<Body> {
    let property = element(DAV, "prop", &element(DAV, "displayname", ""));
    let text = format!(
        "{}<D:principal-search-property>{property}<D:description xml:lang=\"en\">Name</D:description>\
         </D:principal-search-property></D:principal-search-property-set>\n",
        super::xml::begin("principal-search-property-set")
    );
    super::xml_response(StatusCode::OK, text)
}

/// The filter of a query.
pub(crate) fn filter_of(element: &Element) -> Result<Filter, Refusal> {
    let properties =
        element.children().filter(|child| child.is(CARD, "prop-filter")).map(property_filter);
    Ok(Filter { test: test_of(element)?, properties: properties.collect::<Result<_, _>>()? })
}

fn unsupported() -> Refusal {
    Refusal::forbidden(
        "the filter asks for what is not defined",
        "write it as RFC 6352, section 10.5 shows",
    )
    .of(CARD, "supported-filter", "")
}

fn test_of(element: &Element) -> Result<Test, Refusal> {
    match element.attribute("test") {
        None | Some("anyof") => Ok(Test::AnyOf),
        Some("allof") => Ok(Test::AllOf),
        Some(_) => Err(unsupported()),
    }
}

fn name_of(element: &Element) -> Result<String, Refusal> {
    element
        .attribute("name")
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .ok_or_else(unsupported)
}

fn property_filter(element: &Element) -> Result<PropertyFilter, Refusal> {
    let name = name_of(element)?;
    if element.child(CARD, "is-not-defined").is_some() {
        return Ok(PropertyFilter { name, wanted: Wanted::Absent });
    }
    let mut conditions = LineConditions { test: test_of(element)?, ..LineConditions::default() };
    for child in element.children() {
        match (&*child.namespace, &*child.name) {
            (CARD, "text-match") => conditions.texts.push(text_match(child)?),
            (CARD, "param-filter") => conditions.parameters.push(parameter_filter(child)?),
            _ => return Err(unsupported()),
        }
    }
    Ok(PropertyFilter { name, wanted: Wanted::Present(conditions) })
}

fn parameter_filter(element: &Element) -> Result<ParameterFilter, Refusal> {
    let name = name_of(element)?;
    let wanted = match element.child(CARD, "is-not-defined") {
        Some(_) => Wanted::Absent,
        None => Wanted::Present(element.child(CARD, "text-match").map(text_match).transpose()?),
    };
    Ok(ParameterFilter { name, wanted })
}

fn text_match(element: &Element) -> Result<TextMatch, Refusal> {
    let name = element.attribute("collation").unwrap_or("default");
    let collation = Collation::named(name).ok_or_else(|| {
        Refusal::forbidden(
            format!("there is no collation `{name}`"),
            "`supported-collation-set` names those there are",
        )
        .of(CARD, "supported-collation", "")
    })?;
    let kind = match element.attribute("match-type") {
        None | Some("contains") => MatchKind::Contains,
        Some("equals") => MatchKind::Equals,
        Some("starts-with") => MatchKind::StartsWith,
        Some("ends-with") => MatchKind::EndsWith,
        Some(_) => return Err(unsupported()),
    };
    let is_negated = match element.attribute("negate-condition") {
        None | Some("no") => false,
        Some("yes") => true,
        Some(_) => return Err(unsupported()),
    };
    Ok(TextMatch::new(&element.text(), collation, kind, is_negated))
}

impl super::property::View {
    /// A response whose properties hold, in the place of addresses, the responses of what is there.
    fn expanded(&self, resource: &Resource, wanted: &Element, depth: usize) -> String {
        let prefix = &self.dav.path;
        let mut found = String::new();
        let mut missing = String::new();
        for property in wanted.children().filter(|child| child.is(DAV, "property")) {
            let name = property.attribute("name").unwrap_or_default();
            let namespace = property.attribute("namespace").unwrap_or(DAV);
            let value = self.live(
                resource,
                &Name { namespace: namespace.to_owned().into(), name: name.to_owned().into() },
            );
            let Some(value) = value else {
                missing.push_str(&element(namespace, name, ""));
                continue;
            };
            let of = |href: &str| match Place::parse(prefix, &path_of(href)) {
                Ok(Place::Principal(name)) => {
                    self.root.directory().principal(&name).cloned().map(Resource::Principal)
                }
                Ok(Place::Home(name)) => {
                    self.root.directory().principal(&name).cloned().map(Resource::Home)
                }
                Ok(place @ (Place::Root | Place::Principals | Place::Homes(_))) => {
                    Some(Resource::Plain(place))
                }
                _ => None,
            };
            let is_nested = depth < 4 && property.children().next().is_some();
            let hrefs = Element::parse(&format!("{}{value}</D:x>", super::xml::begin("x"))).ok();
            let hrefs = hrefs
                .iter()
                .flat_map(super::xml::Element::children)
                .filter(|child| child.is(DAV, "href"));
            let nested: String = match is_nested {
                true => hrefs
                    .filter_map(|href| of(&href.text()))
                    .map(|it| self.expanded(&it, property, depth + 1))
                    .collect(),
                false => value.clone(),
            };
            found.push_str(&element(namespace, name, &nested));
        }
        let mut parts = super::property::propstat(&found, StatusCode::OK, "");
        if !missing.is_empty() {
            parts.push_str(&super::property::propstat(&missing, StatusCode::NOT_FOUND, ""));
        }
        let href = element(DAV, "href", &escaped(&resource.href(prefix)));
        element(DAV, "response", &format!("{href}{parts}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(inner: &str) -> Result<Filter, Refusal> {
        let text = format!("<C:filter xmlns:C=\"{CARD}\" {inner}</C:filter>");
        filter_of(&Element::parse(&text).unwrap())
    }

    #[test]
    fn filters_are_read() {
        let read = filter(
            "test='allof'><C:prop-filter name='EMAIL'><C:text-match collation='i;ascii-casemap' match-type='ends-with'\
             >Org</C:text-match><C:param-filter name='TYPE'><C:is-not-defined/></C:param-filter></C:prop-filter>\
             <C:prop-filter name='TEL'><C:is-not-defined/></C:prop-filter>",
        );
        let conditions = LineConditions {
            test: Test::AnyOf,
            texts: vec![TextMatch::new("Org", Collation::AsciiCasemap, MatchKind::EndsWith, false)],
            parameters: vec![ParameterFilter { name: "TYPE".to_owned(), wanted: Wanted::Absent }],
        };
        let properties = vec![
            PropertyFilter { name: "EMAIL".to_owned(), wanted: Wanted::Present(conditions) },
            PropertyFilter { name: "TEL".to_owned(), wanted: Wanted::Absent },
        ];
        assert_eq!(read.unwrap(), Filter { test: Test::AllOf, properties });
        for inner in [
            "test='none'>",
            "><C:prop-filter/>",
            "><C:prop-filter name='A'><C:text-match collation='i;x'>a</C:text-match></C:prop-filter>",
            "><C:prop-filter name='A'><C:text-match match-type='x'>a</C:text-match></C:prop-filter>",
            "><C:prop-filter name='A'><C:text-match negate-condition='x'>a</C:text-match></C:prop-filter>",
            "><C:prop-filter name='A'><C:unknown/></C:prop-filter>",
        ] {
            assert_eq!(filter(inner).unwrap_err().status, StatusCode::FORBIDDEN, "{inner}");
        }
    }
}
