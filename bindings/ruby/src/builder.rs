//! What `Sakuin.pack` writes with. Writing lets other threads of Ruby run, and an interrupt breaks it off.

use std::{
    cell::RefCell,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc,
    },
    thread,
};

use magnus::{
    Error, RHash, RModule, RString, Ruby, Value, block::Proc, function, method, prelude::*,
};
use sakuin_pack::{BuildError, Content, Duplicates, Options, Progress, Report};

use crate::{
    error::IntoRuby,
    lock::{check_interrupts, without_lock},
};

#[magnus::wrap(class = "Sakuin::Builder", free_immediately)]
struct Builder {
    builder: RefCell<Option<sakuin_pack::Builder>>,
    watch: Arc<Watch>,
}

/// What the thread that writes and the one that called it know of each other.
#[derive(Default)]
struct Watch {
    /// Nothing more is to be written.
    is_broken_off: AtomicBool,
    /// Who wants to know how far it is.
    told: Mutex<Option<mpsc::Sender<Step>>>,
}

/// What the writing thread tells.
enum Step {
    Progress(Progress),
    End(Result<Report, BuildError>),
}

pub(crate) fn define(ruby: &Ruby, module: RModule) -> Result<(), Error> {
    let class = module.define_class("Builder", ruby.class_object())?;
    class.undef_default_alloc_func();
    class.define_singleton_method("new", function!(Builder::new, 2))?;
    class.define_method("add", method!(Builder::add, 2))?;
    class.define_method("meta", method!(Builder::meta, 1))?;
    class.define_method("write", method!(Builder::write, 2))?;
    Ok(())
}

impl Builder {
    fn new(ruby: &Ruby, content: String, duplicates: String) -> Result<Builder, Error> {
        let unknown = |what: &str| Error::new(ruby.exception_arg_error(), what.to_owned());
        let content = match &*content {
            "json" => Content::Json,
            "text" => Content::Text,
            "bytes" => Content::Bytes,
            _ => return Err(unknown("content is :json, :text or :bytes")),
        };
        let duplicates = match &*duplicates {
            "error" => Duplicates::Error,
            "first" => Duplicates::First,
            "last" => Duplicates::Last,
            "keep" => Duplicates::Keep,
            _ => return Err(unknown("duplicates is :error, :first, :last or :keep")),
        };
        let watch = Arc::<Watch>::default();
        let watched = watch.clone();
        let options =
            Options::new().duplicates(duplicates).progress(move |at| watched.progress(at));
        let builder = RefCell::new(Some(sakuin_pack::Builder::new(content, options)));
        Ok(Builder { builder, watch })
    }

    fn with<T>(
        ruby: &Ruby,
        this: &Self,
        work: impl FnOnce(&mut sakuin_pack::Builder) -> Result<T, BuildError>,
    ) -> Result<T, Error> {
        let mut builder = this.builder.borrow_mut();
        let ended = || Error::new(ruby.exception_runtime_error(), "the table is written already");
        work(builder.as_mut().ok_or_else(ended)?).map_err(IntoRuby::into_ruby)
    }

    fn add(ruby: &Ruby, this: &Self, key: RString, value: RString) -> Result<(), Error> {
        // Safety: nothing of Ruby runs while the bytes are looked at.
        let (key, value) = unsafe { (key.as_slice(), value.as_slice()) };
        Builder::with(ruby, this, |builder| builder.add(key, value))
    }

    fn meta(ruby: &Ruby, this: &Self, json: String) -> Result<(), Error> {
        Builder::with(ruby, this, |builder| builder.meta(&json))
    }

    fn write(
        ruby: &Ruby,
        this: &Self,
        path: PathBuf,
        progress: Option<Proc>,
    ) -> Result<RHash, Error> {
        let ended = || Error::new(ruby.exception_runtime_error(), "the table is written already");
        let builder = this.builder.borrow_mut().take().ok_or_else(ended)?;
        let report = this.watch.write(builder, &path, progress)?.map_err(IntoRuby::into_ruby)?;
        let told = ruby.hash_new();
        told.aset(ruby.to_symbol("keys"), report.keys)?;
        told.aset(ruby.to_symbol("values"), report.values)?;
        told.aset(ruby.to_symbol("bytes"), report.file_bytes)?;
        told.aset(ruby.to_symbol("content_id"), report.content_id)?;
        Ok(told)
    }
}

impl Watch {
    /// Called while the file is written, by whichever thread does.
    fn progress(&self, at: Progress) -> ControlFlow<()> {
        if self.is_broken_off.load(Relaxed) {
            return ControlFlow::Break(());
        }
        if let Some(told) = &*self.told.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = told.send(Step::Progress(at));
        }
        ControlFlow::Continue(())
    }

    /// Writes on a thread of its own, since Ruby is called by its own threads only; this one waits without the lock, and
    /// has it whenever there is something to tell. Whatever is raised breaks the writing off, and is raised when it ended.
    fn write(
        &self,
        builder: sakuin_pack::Builder,
        path: &Path,
        progress: Option<Proc>,
    ) -> Result<Result<Report, BuildError>, Error> {
        let (sender, steps) = mpsc::channel();
        if progress.is_some() {
            *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender.clone());
        }
        thread::scope(|scope| {
            scope.spawn(move || sender.send(Step::End(builder.write(path))));
            let mut raised = None;
            let report = loop {
                let step = without_lock(&self.is_broken_off, || steps.recv());
                let done = match step {
                    Ok(Ok(Step::End(report))) => break report,
                    Ok(Ok(Step::Progress(at))) => match (&progress, &raised) {
                        (Some(progress), None) => {
                            progress.call::<_, Value>((at.done, at.total)).map(drop)
                        }
                        _ => Ok(()),
                    },
                    // Whoever writes has panicked: the scope goes on with that.
                    Ok(Err(_)) => break Err(BuildError::BrokenOff),
                    Err(interrupt) => Err(interrupt),
                };
                if let Err(error) = done {
                    self.is_broken_off.store(true, Relaxed);
                    raised.get_or_insert(error);
                }
            };
            match raised {
                Some(error) => Err(error),
                None => check_interrupts().map(|()| report),
            }
        })
    }
}
