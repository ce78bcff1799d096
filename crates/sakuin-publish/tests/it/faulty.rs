//! A store in memory that fails as stores do, at a request of one's choice, and for which days pass.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, future::pending, stream, stream::BoxStream};
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result, memory::InMemory, path::Path,
};
use tokio::sync::Notify;

/// What becomes of a request.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It never arrives, and nothing is heard of it.
    Unheard,
    /// It is done, and nothing is heard of it.
    Unanswered,
    /// It is done when [`Faulty::release`] says so.
    Held,
    /// It is not done, and an error says so.
    Refused,
    /// It is done, and an error says that nobody knows.
    Lost,
    /// Another puts something there right before, unless there is something.
    Forestalled(&'static str, Vec<u8>),
}

#[derive(Clone)]
pub(crate) struct Faulty(Arc<Inner>);

struct Inner {
    store: InMemory,
    script: Mutex<Script>,
    struck: Notify,
    released: Notify,
}

#[derive(Default)]
struct Script {
    asked: usize,
    fault: Option<(usize, Fault)>,
    /// The days that have passed, and on which of them something was written.
    today: u64,
    written: HashMap<Path, u64>,
    /// How far the store's clock is behind.
    days_behind: u64,
    /// How long each request takes.
    latency: Duration,
}

impl Faulty {
    pub(crate) fn new() -> Faulty {
        let (store, script) = (InMemory::new(), Mutex::default());
        let (struck, released) = (Notify::new(), Notify::new());
        Faulty(Arc::new(Inner { store, script, struck, released }))
    }

    /// Another that has the same, today.
    pub(crate) fn fork(&self) -> Faulty {
        let script = self.0.script.lock().unwrap();
        let (today, written) = (script.today, script.written.clone());
        let script = Mutex::new(Script { today, written, ..Script::default() });
        let (struck, released) = (Notify::new(), Notify::new());
        Faulty(Arc::new(Inner { store: self.0.store.fork(), script, struck, released }))
    }

    /// Has the `number`th request from now on, counted from 1, fail.
    pub(crate) fn strike(&self, number: usize, fault: Fault) {
        let mut script = self.0.script.lock().unwrap();
        (script.asked, script.fault) = (0, Some((number, fault)));
    }

    /// Ends what [`Faulty::strike`] began; whether it has struck.
    pub(crate) fn is_struck(&self) -> bool {
        self.0.script.lock().unwrap().fault.take().is_none()
    }

    /// Resolves when a request stays without an answer.
    pub(crate) async fn is_silent(&self) {
        self.0.struck.notified().await;
    }

    /// Lets go what is held.
    pub(crate) fn release(&self) {
        self.0.released.notify_one();
    }

    pub(crate) fn days_pass(&self, days: u64) {
        self.0.script.lock().unwrap().today += days;
    }

    pub(crate) fn clock_is_behind(&self, days: u64) {
        self.0.script.lock().unwrap().days_behind = days;
    }

    /// What is there, asked past all faults.
    pub(crate) async fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        let found = self.0.store.get(&name.into()).await.ok()?;
        Some(found.bytes().await.unwrap().to_vec())
    }

    /// What is there, asked past all faults.
    pub(crate) async fn names(&self) -> Vec<String> {
        let listed = self.0.store.list(None).map_ok(|meta| meta.location.to_string());
        listed.try_collect().await.unwrap()
    }

    pub(crate) fn is_slow(&self, latency: Duration) {
        self.0.script.lock().unwrap().latency = latency;
    }

    /// Puts something there, past all faults.
    pub(crate) async fn leave(&self, name: &str, bytes: &[u8]) {
        self.0.store.put(&name.into(), bytes.to_vec().into()).await.unwrap();
    }

    /// Takes something away, past all faults.
    pub(crate) async fn remove(&self, name: &str) {
        self.0.store.delete(&name.into()).await.unwrap();
    }

    async fn act<T>(&self, done: impl Future<Output = Result<T>>) -> Result<T> {
        let (fault, latency) = {
            let mut script = self.0.script.lock().unwrap();
            script.asked += 1;
            let asked = script.asked;
            let fault = script.fault.take_if(|(number, _)| *number == asked);
            (fault.map(|(_, fault)| fault), script.latency)
        };
        tokio::time::sleep(latency).await;
        let failed =
            || Error::Generic { store: "faulty", source: "the connection broke".to_owned().into() };
        match fault {
            None => done.await,
            Some(Fault::Refused) => Err(failed()),
            Some(Fault::Lost) => done.await.and(Err(failed())),
            Some(Fault::Forestalled(name, bytes)) => {
                let create = PutMode::Create.into();
                let _ = self.0.store.put_opts(&name.into(), bytes.into(), create).await;
                done.await
            }
            Some(Fault::Held) => {
                self.0.struck.notify_one();
                self.0.released.notified().await;
                done.await
            }
            Some(Fault::Unheard) => {
                self.0.struck.notify_one();
                pending().await
            }
            Some(Fault::Unanswered) => {
                let _ = done.await;
                self.0.struck.notify_one();
                pending().await
            }
        }
    }

    /// As old as the days make it.
    fn aged(&self, mut meta: ObjectMeta) -> ObjectMeta {
        let script = self.0.script.lock().unwrap();
        let written = script.written.get(&meta.location).copied().unwrap_or_default();
        let days = script.today - written + script.days_behind;
        meta.last_modified -= Duration::from_secs(days * 24 * 3600);
        meta
    }
}

impl fmt::Debug for Faulty {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Faulty")
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("faulty")
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let put = async {
            let put = self.0.store.put_opts(location, payload, options).await?;
            let mut script = self.0.script.lock().unwrap();
            let today = script.today;
            script.written.insert(location.clone(), today);
            Ok(put)
        };
        self.act(put).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.act(self.0.store.put_multipart_opts(location, options)).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let mut found = self.act(self.0.store.get_opts(location, options)).await?;
        found.meta = self.aged(found.meta);
        Ok(found)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let this = self.clone();
        let deleted = locations.and_then(move |location| {
            let this = this.clone();
            async move { this.act(this.0.store.delete(&location)).await.map(|()| location) }
        });
        deleted.boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (this, prefix) = (self.clone(), prefix.cloned());
        let listed = async move {
            let all = this.act(this.0.store.list(prefix.as_ref()).try_collect::<Vec<_>>()).await?;
            let aged = all.into_iter().map(|meta| Ok(this.aged(meta))).collect::<Vec<_>>();
            Ok::<_, Error>(stream::iter(aged))
        };
        stream::once(listed).try_flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.act(self.0.store.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.act(self.0.store.copy_opts(from, to, options)).await
    }
}
