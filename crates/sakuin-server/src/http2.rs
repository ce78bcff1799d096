//! What makes a hit cheap over HTTP/2: an answer that is ready needs no task of its own, and the frames of many
//! answers leave in one write.
//!
//! The frames' codec writes and flushes each answer by itself, which over TLS is a record and a system call each.
//! [`Gathered`] holds what is written until the connection's next turn.

use std::{
    io::{self, IoSlice},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

use bytes::{Buf, BytesMut};
use hyper::rt::Executor;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection::Watch;

/// What is held at most: as much as one TLS record takes.
const HELD_BYTES_MAX: usize = 16 << 10;

/// Runs the streams of a connection: at once as far as they come, and the rest in a task.
#[derive(Clone, Copy)]
pub(crate) struct Eager;

impl<F> Executor<F> for Eager
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let mut stream = Box::pin(stream);
        // Nobody is woken: a task polls it anew.
        let mut context = Context::from_waker(Waker::noop());
        let polled = catch_unwind(AssertUnwindSafe(|| stream.as_mut().poll(&mut context)));
        if let Ok(Poll::Pending) = polled {
            tokio::spawn(stream);
        }
    }
}

/// A stream that, once its connection speaks HTTP/2, lets what is flushed in one turn of the connection go in
/// the next, all together.
pub(crate) struct Gathered<S> {
    stream: S,
    held: BytesMut,
    watch: Arc<Watch>,
}

impl<S: AsyncWrite + Unpin> Gathered<S> {
    pub(crate) fn new(stream: S, watch: Arc<Watch>) -> Gathered<S> {
        Gathered { stream, held: BytesMut::new(), watch }
    }

    fn hold(
        &mut self,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = buffers.iter().map(|buffer| buffer.len()).sum();
        if self.held.len() + length > HELD_BYTES_MAX {
            ready!(self.write_held(context))?;
        }
        if length > HELD_BYTES_MAX {
            return Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        }
        buffers.iter().for_each(|buffer| self.held.extend_from_slice(buffer));
        Poll::Ready(Ok(length))
    }

    fn write_held(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A socket that takes no more wakes the task when it does.
        self.watch.released();
        while !self.held.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, &self.held))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.held.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gathered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gathered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.watch.is_http2() {
            return self.hold(context, &[IoSlice::new(buffer)]);
        }
        Pin::new(&mut self.stream).poll_write(context, buffer)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.watch.is_http2() {
            return self.hold(context, buffers);
        }
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.held.is_empty() && !self.watch.may_release() {
            return Poll::Ready(Ok(()));
        }
        ready!(self.write_held(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write_held(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
