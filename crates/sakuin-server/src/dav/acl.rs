//! ACL (RFC 3744, section 8.1): an owner says who else may look at a collection, or change it.

use axum::http::{Response, StatusCode};
use sakuin_contacts::{PrincipalId, Rights};

use super::{
    Request,
    condition::path_of,
    empty,
    path::Place,
    refusal::Refusal,
    xml::{DAV, Element},
};
use crate::body::Body;

impl Request {
    pub(crate) async fn acl(&self, body: Option<Element>) -> Result<Response<Body>, Refusal> {
        let (within, id) = self.within()?;
        if !within.path.is_empty() {
            return Err(Refusal::forbidden(
                "rights are those of the whole collection",
                "send them to its address",
            ));
        }
        if !self.is_owner(&within) {
            return Err(Refusal::need(&within.href(&self.dav.path, true), "write-acl"));
        }
        let body = body.filter(|body| body.is(DAV, "acl"));
        let body = body.ok_or_else(|| Refusal::body("it is not `acl`"))?;
        let owner = self.root.directory().principal(&within.owner).map(|owner| owner.id);
        let mut shares = Vec::new();
        for ace in body.children().filter(|child| child.is(DAV, "ace")) {
            // What is protected comes back as it was given out.
            if ace.child(DAV, "protected").is_some() {
                continue;
            }
            let (principal, rights) = self.ace(ace)?;
            if Some(principal) != owner
                && let Some(rights) = rights
            {
                shares.push((principal, rights));
            }
        }
        self.change(vec![id], move |change, guard| {
            guard.check_locks(change, id, &within, false)?;
            let before: Vec<_> = change.root().directory().shares(id).collect();
            for (principal, _) in before {
                change.set_share(id, principal, None)?;
            }
            shares.into_iter().try_for_each(|(principal, rights)| {
                change.set_share(id, principal, Some(rights))
            })?;
            Ok(())
        })
        .await?;
        Ok(empty(StatusCode::OK))
    }

    /// Who an entry is about, and what it lets them do.
    fn ace(&self, ace: &Element) -> Result<(PrincipalId, Option<Rights>), Refusal> {
        let only = |condition, cause: &str| {
            Refusal::forbidden(cause, "grant `read` or `write` to principals of this server")
                .of(DAV, condition, "")
        };
        if ace.child(DAV, "deny").is_some() {
            return Err(only("grant-only", "an entry denies something"));
        }
        if ace.child(DAV, "invert").is_some() {
            return Err(only("no-invert", "an entry is about all but some"));
        }
        let principal = ace
            .child(DAV, "principal")
            .ok_or_else(|| only("recognized-principal", "an entry is about nobody"))?;
        let unknown =
            || only("recognized-principal", "an entry is about somebody who is not known here");
        let href = principal.child(DAV, "href").ok_or_else(unknown)?.text();
        let Ok(Place::Principal(name)) = Place::parse(&self.dav.path, &path_of(href.trim())) else {
            return Err(unknown());
        };
        let principal = self.root.directory().principal(&name).ok_or_else(unknown)?.id;
        let grant =
            ace.child(DAV, "grant").ok_or_else(|| Refusal::body("an `ace` grants nothing"))?;
        let mut rights = None;
        for privilege in grant.children().flat_map(Element::children) {
            let granted = match (&*privilege.namespace, &*privilege.name) {
                (DAV, "read" | "read-current-user-privilege-set") => Rights::Read,
                (
                    DAV,
                    "write" | "all" | "write-content" | "write-properties" | "bind" | "unbind"
                    | "unlock",
                ) => Rights::Write,
                _ => {
                    return Err(only(
                        "not-supported-privilege",
                        "an entry grants what there is not",
                    ));
                }
            };
            rights = rights.max(Some(granted));
        }
        Ok((principal, rights))
    }
}
