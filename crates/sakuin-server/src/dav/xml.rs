//! XML in and out: small trees of what clients send, without entities and within bounds, and text that is written by
//! hand.

use std::fmt::Write;

use quick_xml::{
    NsReader, XmlVersion,
    events::{BytesStart, Event},
    name::{NamespaceResolver, ResolveResult},
};
use sakuin_contacts::is_xml_character;

/// The namespace of WebDAV.
pub(crate) const DAV: &str = "DAV:";
/// The namespace of CardDAV.
pub(crate) const CARD: &str = "urn:ietf:params:xml:ns:carddav";
/// The namespace of change tags, which clients know from Apple's server.
pub(crate) const CS: &str = "http://calendarserver.org/ns/";
const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// How deep elements may lie, and how many namespaces may be in force.
const DEPTH_MAX: usize = 32;
const BINDINGS_MAX: usize = 64;

/// One element with what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) inside: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attribute {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) value: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Element(Element),
    Text(String),
}

impl Element {
    /// The one element of a document.
    pub(crate) fn parse(text: &str) -> Result<Element, String> {
        check_characters(text)?;
        let mut reader = NsReader::from_str(text);
        reader.resolver_mut().set_max_namespace_bindings(BINDINGS_MAX);
        // What is read lies in an element without a name.
        let mut open = vec![Element::default()];
        loop {
            let (resolved, event) =
                reader.read_resolved_event().map_err(|error| error.to_string())?;
            let namespace = match &resolved {
                ResolveResult::Bound(namespace) => unescaped(namespace.into_inner())?,
                ResolveResult::Unbound => String::new(),
                ResolveResult::Unknown(prefix) => {
                    return Err(format!("the prefix `{prefix}` is not bound"));
                }
            };
            match event {
                Event::Start(start) => {
                    open.push(Element::of(namespace, &start, reader.resolver())?);
                    if open.len() > DEPTH_MAX {
                        return Err(format!("elements lie deeper than {DEPTH_MAX}"));
                    }
                }
                Event::Empty(start) => {
                    let element = Element::of(namespace, &start, reader.resolver())?;
                    last(&mut open).inside.push(Node::Element(element));
                }
                Event::End(_) => {
                    let element = open.pop().unwrap_or_default();
                    last(&mut open).inside.push(Node::Element(element));
                }
                Event::Text(text) => {
                    last(&mut open).push_text(&text.xml_content(XmlVersion::Implicit1_0));
                }
                Event::CData(text) => {
                    last(&mut open).push_text(&text.xml_content(XmlVersion::Implicit1_0));
                }
                Event::GeneralRef(of) => {
                    let one = of.resolve_char_ref().map_err(|error| error.to_string())?;
                    let one = one.or_else(|| entity(&of)).ok_or("it has an entity of its own")?;
                    let mut place = [0; 4];
                    let one = one.encode_utf8(&mut place);
                    check_characters(one)?;
                    last(&mut open).push_text(one);
                }
                Event::DocType(_) => return Err("it has a document type".to_owned()),
                Event::Comment(_) | Event::PI(_) | Event::Decl(_) => {}
                Event::Eof => break,
            }
        }
        let mut elements = match open.pop() {
            Some(outermost) if open.is_empty() => outermost.inside.into_iter(),
            _ => return Err("it ends within an element".to_owned()),
        };
        let is_blank = |node: &Node| matches!(node, Node::Text(text) if text.trim().is_empty());
        match elements.by_ref().find(|node| !is_blank(node)) {
            Some(Node::Element(element)) if elements.all(|node| is_blank(&node)) => Ok(element),
            _ => Err("it is not one element".to_owned()),
        }
    }

    fn of(
        namespace: String,
        start: &BytesStart<'_>,
        resolver: &NamespaceResolver,
    ) -> Result<Element, String> {
        let name = named(start.local_name().into_inner())?;
        let mut element = Element { namespace, name, ..Element::default() };
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| error.to_string())?;
            if attribute.key.as_namespace_binding().is_some() {
                continue;
            }
            let (resolved, name) = resolver.resolve_attribute(attribute.key);
            let namespace = match resolved {
                ResolveResult::Bound(namespace) => unescaped(namespace.into_inner())?,
                ResolveResult::Unbound => String::new(),
                ResolveResult::Unknown(prefix) => {
                    return Err(format!("the prefix `{prefix}` is not bound"));
                }
            };
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| error.to_string())?;
            check_characters(&value)?;
            element.attributes.push(Attribute {
                namespace,
                name: named(name.into_inner())?,
                value: value.into_owned(),
            });
        }
        Ok(element)
    }

    fn push_text(&mut self, text: &str) {
        match self.inside.last_mut() {
            Some(Node::Text(before)) => before.push_str(text),
            _ => self.inside.push(Node::Text(text.to_owned())),
        }
    }

    /// Whether it has this name.
    pub(crate) fn is(&self, namespace: &str, name: &str) -> bool {
        self.namespace == namespace && self.name == name
    }

    /// The elements in it.
    pub(crate) fn children(&self) -> impl Iterator<Item = &Element> {
        self.inside.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// The first element in it of this name.
    pub(crate) fn child(&self, namespace: &str, name: &str) -> Option<&Element> {
        self.children().find(|child| child.is(namespace, name))
    }

    /// An attribute without a namespace.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|one| one.namespace.is_empty() && one.name == name);
        found.map(|attribute| &*attribute.value)
    }

    /// The text in it, without that of elements in it.
    pub(crate) fn text(&self) -> String {
        let texts = self.inside.iter().filter_map(|node| match node {
            Node::Text(text) => Some(&**text),
            Node::Element(_) => None,
        });
        texts.collect()
    }

    /// It as text that means the same anywhere.
    pub(crate) fn to_xml(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, None);
        out
    }

    /// What is in it, as text that means the same anywhere.
    pub(crate) fn inner_xml(&self) -> String {
        let mut out = String::new();
        self.inside.iter().for_each(|node| node.write(&mut out, None));
        out
    }

    fn write(&self, out: &mut String, outer: Option<&str>) {
        let _ = write!(out, "<{}", self.name);
        if outer != Some(&self.namespace) {
            let _ = write!(out, " xmlns=\"{}\"", in_quotes(&self.namespace));
        }
        for (number, Attribute { namespace, name, value }) in self.attributes.iter().enumerate() {
            let value = in_quotes(value);
            let _ = match namespace.as_str() {
                "" => write!(out, " {name}=\"{value}\""),
                XML => write!(out, " xml:{name}=\"{value}\""),
                namespace => write!(
                    out,
                    " xmlns:a{number}=\"{}\" a{number}:{name}=\"{value}\"",
                    in_quotes(namespace)
                ),
            };
        }
        if self.inside.is_empty() {
            out.push_str("/>");
            return;
        }
        out.push('>');
        self.inside.iter().for_each(|node| node.write(out, Some(&self.namespace)));
        let _ = write!(out, "</{}>", self.name);
    }
}

impl Node {
    fn write(&self, out: &mut String, outer: Option<&str>) {
        match self {
            Node::Element(element) => element.write(out, outer),
            Node::Text(text) => push_escaped(out, text),
        }
    }
}

fn last(open: &mut [Element]) -> &mut Element {
    open.last_mut().expect("what is read lies in an element")
}

fn entity(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}

/// A text as it stands in an element or an attribute.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    push_escaped(&mut out, text);
    out
}

/// Appends a text as it stands in an element. A carriage return would be dropped by who reads, and is written as what it
/// is; so bytes come back as they were. What XML cannot hold is in no card, and told as unknown.
pub(crate) fn push_escaped(out: &mut String, text: &str) {
    let mut rest = text;
    let is_special = |one: char| {
        matches!(one, '<' | '>' | '&' | '"') || one < ' ' && !matches!(one, '\t' | '\n')
    };
    while let Some(at) = rest.find(is_special) {
        out.push_str(&rest[..at]);
        out.push_str(match rest.as_bytes()[at] {
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'&' => "&amp;",
            b'"' => "&quot;",
            b'\r' => "&#13;",
            _ => "\u{fffd}",
        });
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

/// Refuses what XML cannot hold, however it is written.
fn check_characters(text: &str) -> Result<(), String> {
    match text.chars().find(|one| !is_xml_character(*one)) {
        Some(one) => Err(format!("it has the control character U+{:04X}", u32::from(one))),
        None => Ok(()),
    }
}

/// The value of an attribute: what a reader would take for a plain space is written so that it does not.
fn in_quotes(text: &str) -> String {
    escaped(text).replace('\n', "&#10;").replace('\t', "&#9;")
}

/// A name without a prefix, as far as readers agree on names.
fn named(name: &str) -> Result<String, String> {
    let is_first = |one: char| one.is_alphabetic() || one == '_';
    let is_later = |one: char| is_first(one) || one.is_alphanumeric() || matches!(one, '-' | '.');
    match name.starts_with(is_first) && name.chars().all(is_later) {
        true => Ok(name.to_owned()),
        false => Err(format!("`{name}` is no name")),
    }
}

/// A namespace as it is meant: it is told as it is written.
fn unescaped(namespace: &str) -> Result<String, String> {
    let meant = quick_xml::escape::unescape(namespace).map_err(|error| error.to_string())?;
    check_characters(&meant)?;
    Ok(meant.into_owned())
}

/// An element in a namespace of ours, with text in it that is XML already.
pub(crate) fn element(namespace: &str, name: &str, inner: &str) -> String {
    let prefix = match namespace {
        DAV => "D:",
        CARD => "C:",
        CS => "CS:",
        _ => {
            let namespace = escaped(namespace);
            return match inner {
                "" => format!("<{name} xmlns=\"{namespace}\"/>"),
                inner => format!("<{name} xmlns=\"{namespace}\">{inner}</{name}>"),
            };
        }
    };
    match inner {
        "" => format!("<{prefix}{name}/>"),
        inner => format!("<{prefix}{name}>{inner}</{prefix}{name}>"),
    }
}

/// The beginning of a document whose outermost element is of WebDAV.
pub(crate) fn begin(name: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:{name} xmlns:D=\"{DAV}\" xmlns:C=\"{CARD}\" xmlns:CS=\"{CS}\">"
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_read_and_written_means_the_same() {
        let text = "<?xml version=\"1.0\"?><!-- c --><a:x xmlns:a='u:a' xmlns='u:d>&amp;' b='1 &lt;&#10;&#9;' a:c='2' xml:lang='en'>t\r\n&#13;\
            <y/><![CDATA[<&]]><a:z xmlns:a='u:other'>&amp;</a:z></a:x>\n";
        let read = Element::parse(text).unwrap();
        assert!(read.is("u:a", "x") && read.attribute("b") == Some("1 <\n\t"));
        assert_eq!(read.text(), "t\n\r<&");
        assert!(
            read.child("u:d>&", "y").is_some() && read.child("u:other", "z").unwrap().text() == "&"
        );
        assert_eq!(Element::parse(&read.to_xml()), Ok(read));
    }

    #[test]
    fn what_could_harm_is_refused() {
        let deep = "<a>".repeat(40);
        let names: String = (0..100).map(|at| format!(" xmlns:n{at}='x'")).collect();
        for text in [
            "",
            "x",
            "<a>",
            "<a></b>",
            "<a/><b/>",
            "<a:b/>",
            "<a b:c=''/>",
            "<a>&b;</a>",
            "<a b='&c;'/>",
            "<a xmlns='&c;'/>",
            "<a>&#0;</a>",
            "<a>&#x1;</a>",
            "<a:b:c xmlns:a='x'/>",
            "<a\"b/>",
            "<-a/>",
            "<a b&='1'/>",
            "<a b='&#1;'/>",
            "<a xmlns='&#1;'/>",
            "<a>\0</a>",
            "<a b='\u{8}'/>",
            "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
            &deep,
            &format!("<a{names}/>"),
            "<a b='1' b='2'/>",
        ] {
            assert!(Element::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_comes_back(text in "[\t\n\r -~é]{0,60}") {
            let read = Element::parse(&format!("<a>{}</a>", escaped(&text))).unwrap();
            prop_assert_eq!(read.text(), text);
        }

        #[test]
        fn nothing_panics(text in "[<>/a:b=' &;!\\[\\]?-]{0,40}") {
            if let Ok(read) = Element::parse(&text) {
                prop_assert_eq!(Element::parse(&read.to_xml()), Ok(read));
            }
        }
    }
}
