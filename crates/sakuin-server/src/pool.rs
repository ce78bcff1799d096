//! A bounded pool of threads for work that would hold up a core's event loop: scans, pages, books.
//!
//! Admission is decided at once: work that finds the queue full is refused and its sender told to come
//! back, so that a burst costs a refusal and never a growing queue. Work whose client has gone away is
//! dropped unstarted.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
};

use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

/// Threads that take work from one bounded queue; they end when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Pool {
    queue: SyncSender<Job>,
}

/// Why work was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The queue is full.
    Full,
    /// The work panicked.
    Panicked,
}

impl Pool {
    /// Starts `workers` threads behind a queue of `waiting` places; without workers, everything is
    /// refused.
    pub(crate) fn start(workers: usize, waiting: usize) -> io::Result<Pool> {
        let (queue, jobs) = sync_channel::<Job>(waiting);
        let jobs = Arc::new(Mutex::new(jobs));
        for number in 0..workers {
            let jobs = jobs.clone();
            thread::Builder::new().name(format!("sakuin-work-{number}")).spawn(move || {
                while let Some(job) = next(&jobs) {
                    job();
                }
            })?;
        }
        Ok(Pool { queue })
    }

    /// Does `work` on a thread of the pool.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refused> {
        let (sender, receiver) = oneshot::channel();
        let job = move || {
            if sender.is_closed() {
                return;
            }
            // A panic drops the sender, which tells the waiting side; the thread goes on.
            let _ = catch_unwind(AssertUnwindSafe(|| sender.send(work())));
        };
        match self.queue.try_send(Box::new(job)) {
            Ok(()) => receiver.await.map_err(|_| Refused::Panicked),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => Err(Refused::Full),
        }
    }
}

fn next(jobs: &Mutex<Receiver<Job>>) -> Option<Job> {
    jobs.lock().expect("no job runs under this lock").recv().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn wait<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn a_full_queue_refuses_and_frees_itself() {
        let pool = Pool::start(1, 1).unwrap();
        let (release, gate) = mpsc::channel::<()>();
        let (began, begun) = mpsc::channel();
        wait(async {
            let held = pool.run(move || {
                began.send(()).unwrap();
                gate.recv().unwrap();
            });
            let queued = pool.run(|| 1);
            let refused = async {
                // The first job must have left the queue before the second fills its only place.
                begun.recv().unwrap();
                Ok::<_, Refused>(())
            };
            tokio::pin!(held, queued);
            poll_once(held.as_mut()).await;
            refused.await.unwrap();
            poll_once(queued.as_mut()).await;
            assert_eq!(pool.run(|| 2).await, Err(Refused::Full));
            release.send(()).unwrap();
            assert_eq!(held.await, Ok(()));
            assert_eq!(queued.await, Ok(1));
            assert_eq!(pool.run(|| 3).await, Ok(3));
        });
    }

    #[test]
    fn a_panic_is_told_and_the_thread_goes_on() {
        let pool = Pool::start(1, 4).unwrap();
        wait(async {
            assert_eq!(
                pool.run(|| panic!("a bug in the work")).await,
                Err::<(), _>(Refused::Panicked)
            );
            assert_eq!(pool.run(|| 7).await, Ok(7));
        });
    }

    #[test]
    fn without_workers_everything_is_refused() {
        let pool = Pool::start(0, 0).unwrap();
        assert_eq!(wait(pool.run(|| ())), Err(Refused::Full));
    }

    async fn poll_once<F: Future + Unpin>(mut future: F) {
        std::future::poll_fn(|context| {
            let _ = std::pin::Pin::new(&mut future).poll(context);
            std::task::Poll::Ready(())
        })
        .await;
    }
}
