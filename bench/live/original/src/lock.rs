//! The locks of the original question behind one name, so that the server is written once: work is done while the
//! lock is held, as a handler does that locks, looks and unlocks.

use std::future::Future;

/// Values that many may read or one may change.
pub trait Lock: Send + Sync + 'static {
    fn new(values: Vec<i32>) -> Self;

    fn read<T: Send>(
        &self,
        work: impl FnOnce(&Vec<i32>) -> T + Send,
    ) -> impl Future<Output = T> + Send;

    fn write<T: Send>(
        &self,
        work: impl FnOnce(&mut Vec<i32>) -> T + Send,
    ) -> impl Future<Output = T> + Send;
}

macro_rules! lock {
    ($lock:ty, $self:ident => $read:expr, $write:expr) => {
        impl Lock for $lock {
            fn new(values: Vec<i32>) -> Self {
                <$lock>::new(values)
            }

            async fn read<T: Send>(&$self, work: impl FnOnce(&Vec<i32>) -> T + Send) -> T {
                work(&*$read)
            }

            async fn write<T: Send>(&$self, work: impl FnOnce(&mut Vec<i32>) -> T + Send) -> T {
                work(&mut *$write)
            }
        }
    };
}

// A panic under std's lock poisons it: whoever comes later panics too.
lock!(std::sync::RwLock<Vec<i32>>, self => self.read().unwrap(), self.write().unwrap());
lock!(parking_lot::RwLock<Vec<i32>>, self => self.read(), self.write());
lock!(tokio::sync::RwLock<Vec<i32>>, self => self.read().await, self.write().await);
// async-std, which the question asked about, is no longer kept; its lock lives on as this one.
lock!(async_lock::RwLock<Vec<i32>>, self => self.read().await, self.write().await);
