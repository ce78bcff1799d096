//! What `Sakuin.pack` writes with. Writing lets other threads of Ruby run, and an interrupt breaks it off.

use std::{
    cell::RefCell,
    ffi::c_void,
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use magnus::{Error, RHash, RModule, RString, Ruby, function, method, prelude::*};
use sakuin_pack::{BuildError, Content, Duplicates, Options};

use crate::error::IntoRuby;

#[magnus::wrap(class = "Sakuin::Builder", free_immediately)]
struct Builder {
    builder: RefCell<Option<sakuin_pack::Builder>>,
    is_interrupted: Arc<AtomicBool>,
}

pub(crate) fn define(ruby: &Ruby, module: RModule) -> Result<(), Error> {
    let class = module.define_class("Builder", ruby.class_object())?;
    class.undef_default_alloc_func();
    class.define_singleton_method("new", function!(Builder::new, 2))?;
    class.define_method("add", method!(Builder::add, 2))?;
    class.define_method("meta", method!(Builder::meta, 1))?;
    class.define_method("write", method!(Builder::write, 1))?;
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
        let is_interrupted = Arc::new(AtomicBool::new(false));
        let seen = is_interrupted.clone();
        let options = Options::new().duplicates(duplicates).progress(move |_| {
            if seen.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let builder = RefCell::new(Some(sakuin_pack::Builder::new(content, options)));
        Ok(Builder { builder, is_interrupted })
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

    fn write(ruby: &Ruby, this: &Self, path: PathBuf) -> Result<RHash, Error> {
        let ended = || Error::new(ruby.exception_runtime_error(), "the table is written already");
        let builder = this.builder.borrow_mut().take().ok_or_else(ended)?;
        let report = without_lock(&this.is_interrupted, || builder.write(&path));
        if matches!(report, Err(BuildError::BrokenOff)) {
            // Safety: it raises what interrupted, past nothing that must be dropped.
            magnus::rb_sys::protect(|| {
                unsafe { rb_sys::rb_thread_check_ints() };
                rb_sys::Qnil as rb_sys::VALUE
            })?;
        }
        let report = report.map_err(IntoRuby::into_ruby)?;
        let told = ruby.hash_new();
        told.aset(ruby.to_symbol("keys"), report.keys)?;
        told.aset(ruby.to_symbol("values"), report.values)?;
        told.aset(ruby.to_symbol("bytes"), report.file_bytes)?;
        told.aset(ruby.to_symbol("content_id"), report.content_id)?;
        Ok(told)
    }
}

/// Does work that touches nothing of Ruby while others hold its lock; an interrupt sets the flag.
fn without_lock<T, F: FnOnce() -> T>(flag: &AtomicBool, work: F) -> T {
    struct Call<T, F> {
        work: Option<F>,
        done: Option<std::thread::Result<T>>,
    }
    unsafe extern "C" fn call<T, F: FnOnce() -> T>(data: *mut c_void) -> *mut c_void {
        // Safety: `data` is the `Call` below, which nobody else touches meanwhile.
        let call = unsafe { &mut *data.cast::<Call<T, F>>() };
        call.done = call.work.take().map(|work| catch_unwind(AssertUnwindSafe(work)));
        std::ptr::null_mut()
    }
    unsafe extern "C" fn interrupt(flag: *mut c_void) {
        // Safety: it is the flag below, which lives longer than the call.
        unsafe { &*flag.cast::<AtomicBool>() }.store(true, Relaxed);
    }
    let mut all = Call { work: Some(work), done: None };
    // Safety: both functions get what they expect, and both outlive the call.
    unsafe {
        rb_sys::rb_thread_call_without_gvl(
            Some(call::<T, F>),
            (&raw mut all).cast(),
            Some(interrupt),
            std::ptr::from_ref(flag).cast_mut().cast(),
        );
    }
    // A panic goes on where it is known what to do with it.
    all.done.expect("the work was done").unwrap_or_else(|panic| resume_unwind(panic))
}
