//! PROPFIND and PROPPATCH: what is said of resources, and what clients say of them.

use std::sync::Arc;

use axum::http::{Response, StatusCode};
use sakuin_contacts::{Collection, Entry, Kind, PropertyKey, Rights};

use super::{
    Request,
    condition::Depth,
    multistatus::{Item, multistatus, response},
    multistatus_of,
    path::{Area, Place, Within},
    property::{Asked, Name, Resource, propstat},
    refusal::Refusal,
    report::is_minimal,
    xml::{DAV, Element, element},
};
use crate::body::Body;

impl Request {
    pub(crate) async fn propfind(&self, body: Option<Element>) -> Result<Response<Body>, Refusal> {
        if body.as_ref().is_some_and(|body| !body.is(DAV, "propfind")) {
            return Err(Refusal::body("it is not `propfind`"));
        }
        let asked = Asked::of(body.as_ref())?;
        let depth = Depth::of(&self.headers, Depth::Infinity)?;
        if depth == Depth::Infinity {
            return Err(Refusal::forbidden(
                "the depth is infinite",
                "send `Depth: 0` or `Depth: 1`",
            )
            .of(DAV, "propfind-finite-depth", ""));
        }
        let resource = self.resource()?;
        let below = match depth {
            Depth::Zero => Vec::new(),
            _ => self.below(&resource),
        };
        let is_without_root = self.prefers("depth-noroot") && depth == Depth::One;
        let own = (!is_without_root).then_some(resource);
        let items = own.into_iter().chain(below).map(Item::Resource).collect();
        Ok(multistatus(self.view(), asked, items, "", is_minimal(&self.headers)))
    }

    fn prefers(&self, what: &str) -> bool {
        let prefer = self.headers.get("prefer").and_then(|it| it.to_str().ok()).unwrap_or_default();
        prefer.split([',', ';']).any(|one| one.trim().eq_ignore_ascii_case(what))
    }

    /// What lies directly below a resource, for who asks.
    fn below(&self, resource: &Resource) -> Vec<Resource> {
        let directory = self.root.directory();
        let who = &self.who.principal;
        match resource {
            Resource::Plain(Place::Root) => {
                let places =
                    [Place::Principals, Place::Homes(Area::Books), Place::Homes(Area::Files)];
                places.map(Resource::Plain).into()
            }
            Resource::Plain(Place::Principals) => {
                directory.principals().cloned().map(Resource::Principal).collect()
            }
            Resource::Plain(Place::Homes(Area::Books)) => {
                let known = directory.principals().map(|owner| Place::Home(owner.name.to_string()));
                known.filter_map(|home| self.find(&home).ok()).collect()
            }
            Resource::Plain(Place::Homes(Area::Files)) => {
                self.files_of(&who.name).into_iter().collect()
            }
            Resource::Home(owner) => {
                let books =
                    directory.collections(owner.id).filter(|(_, header)| header.kind == Kind::Book);
                let book = |name: &str| Within {
                    area: Area::Books,
                    owner: owner.name.to_string(),
                    collection: name.to_owned(),
                    path: String::new(),
                };
                books.filter_map(|(name, _)| self.find(&Place::In(book(name))).ok()).collect()
            }
            Resource::Collection(within, collection, rights) => {
                directly_below(within, collection, *rights)
            }
            Resource::Entry(within, collection, folder, rights) if folder.is_folder() => {
                directly_below(within, collection, *rights)
            }
            _ => Vec::new(),
        }
    }

    fn files_of(&self, name: &str) -> Option<Resource> {
        let place = Place::In(Within {
            area: Area::Files,
            owner: name.to_owned(),
            collection: String::new(),
            path: String::new(),
        });
        self.find(&place).ok()
    }

    pub(crate) async fn proppatch(&self, body: Option<Element>) -> Result<Response<Body>, Refusal> {
        let body = body.filter(|body| body.is(DAV, "propertyupdate"));
        let body = body.ok_or_else(|| Refusal::body("it is not `propertyupdate`"))?;
        let mut updates = Vec::new();
        for change in body.children().filter(|child| child.namespace == DAV) {
            let is_set = change.name == "set";
            if !is_set && change.name != "remove" {
                continue;
            }
            for property in change.child(DAV, "prop").into_iter().flat_map(Element::children) {
                updates.push((Name::of(property), is_set.then(|| property.to_xml())));
            }
        }
        if updates.is_empty() {
            return Err(Refusal::body("it changes no property"));
        }
        let (within, id) = self.within()?;
        let href = match self.resource()? {
            Resource::Entry(_, _, entry, _) => within.href(&self.dav.path, entry.is_folder()),
            _ => within.href(&self.dav.path, true),
        };
        let names = |wanted: &dyn Fn(&Name) -> bool| -> String {
            let names = updates.iter().map(|(name, _)| name).filter(|name| wanted(name));
            names.map(|name| element(&name.namespace, &name.name, "")).collect()
        };
        // All or nothing.
        if updates.iter().any(|(name, _)| name.is_protected()) {
            let error =
                element(DAV, "error", &element(DAV, "cannot-modify-protected-property", ""));
            let mut parts = propstat(&names(&Name::is_protected), StatusCode::FORBIDDEN, &error);
            let others = names(&|name| !name.is_protected());
            if !others.is_empty() {
                parts.push_str(&propstat(&others, StatusCode::FAILED_DEPENDENCY, ""));
            }
            return Ok(multistatus_of(&response(&href, &parts)));
        }
        let done = propstat(&names(&|_| true), StatusCode::OK, "");
        self.change(vec![id], move |change, guard| {
            guard.check(change, id, &within, false)?;
            if !within.path.is_empty() && change.collection(id)?.entry(&within.path).is_none() {
                return Err(Refusal::not_found());
            }
            for (name, value) in updates {
                let key = PropertyKey {
                    path: within.path.as_str().into(),
                    namespace: (*name.namespace).into(),
                    name: (*name.name).into(),
                };
                change.set_property(id, key, value.map(Into::into))?;
            }
            Ok(())
        })
        .await?;
        Ok(multistatus_of(&response(&href, &done)))
    }
}

/// The entries of a collection, or of one of its folders, but for those of the folders in it.
fn directly_below(within: &Within, collection: &Arc<Collection>, rights: Rights) -> Vec<Resource> {
    let length = if within.path.is_empty() { 0 } else { within.path.len() + 1 };
    let direct = collection.below(&within.path).filter(|entry| !entry.name[length..].contains('/'));
    let resource = |entry: &Arc<Entry>| {
        Resource::Entry(within.at(&entry.name), collection.clone(), entry.clone(), rights)
    };
    direct.map(resource).collect()
}
