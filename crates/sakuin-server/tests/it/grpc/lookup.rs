//! Tables of every kind by key.

use sakuin_grpc::lookup::{Answer, BatchGetRequest, GetRequest, Source, entry::Outcome};
use sakuin_pack::{Builder, Content, Options};

use super::*;

fn with_cities() -> Served {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = Builder::new(Content::Text, Options::new());
    builder.add(b"tokyo", b"13960000").unwrap();
    builder.write(folder.path().join("cities.skn")).unwrap();
    let text = format!("{CONFIG}\n[tables.cities]\nkind = \"packed\"\nfile = \"cities.skn\"\n");
    let config = Config::parse(&text, "test.toml", folder.path()).unwrap();
    Served::of(&config, folder)
}

impl Served {
    fn answer(&self, table: &str, key: &str) -> Result<Response<Answer>, Status> {
        let request = GetRequest { table: table.to_owned(), key: key.to_owned() };
        let response = self.wait(self.lookup().get(request))?;
        Ok(response.map(|response| response.answer.unwrap()))
    }
}

#[test]
fn packed_and_live_tables_answer_alike() {
    let served = with_cities();
    let tokyo = served.answer("cities", "tokyo").unwrap().into_inner();
    assert_eq!((&*tokyo.value, tokyo.source()), (&b"13960000"[..], Source::Packed));
    assert_eq!(tokyo.content_type, "text/plain; charset=utf-8");
    assert_eq!(tokyo.version.len(), 32);
    served.create([("value", Kind::Int(7))]);
    let record = served.answer("features", "1").unwrap().into_inner();
    assert_eq!((&*record.version, record.source()), ("1", Source::Live));
    assert_eq!(
        (&*record.value, &*record.content_type),
        (&br#"{"id":1,"value":7}"#[..], "application/json")
    );
}

#[test]
fn what_is_not_there_is_not_found() {
    let served = with_cities();
    refused(served.answer("cities", "kyoto"), Code::NotFound, "KEY_NOT_FOUND");
    refused(served.answer("towns", "kyoto"), Code::NotFound, "TABLE_NOT_FOUND");
    refused(served.answer("features", "1"), Code::NotFound, "KEY_NOT_FOUND");
    let details = refused(served.answer("features", "x"), Code::InvalidArgument, "INVALID_FIELD");
    assert_eq!(blamed(&details).0, "key");
}

#[test]
fn a_batch_has_an_entry_for_what_there_is() {
    let served = with_cities();
    served.create([("value", Kind::Int(7))]);
    let batch = |table: &str, keys: &[&str]| {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        served.wait(served.lookup().batch_get(BatchGetRequest { table: table.to_owned(), keys }))
    };
    let entries = batch("features", &["2", "1", "x"]).unwrap().into_inner().entries;
    assert_eq!((entries.len(), &*entries[0].key, &*entries[1].key), (2, "1", "x"));
    assert!(matches!(entries[0].outcome, Some(Outcome::Answer(_))));
    let Some(Outcome::Error(error)) = &entries[1].outcome else { panic!("{entries:?}") };
    assert_eq!((error.code, &*error.reason), (Code::InvalidArgument as i32, "INVALID_FIELD"));
    refused(batch("towns", &["2"]), Code::NotFound, "TABLE_NOT_FOUND");
    refused(batch("cities", &["a"; 1001]), Code::InvalidArgument, "TOO_LARGE");
}
