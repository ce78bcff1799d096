//! Listening sockets: one a loop and address, all loops on the same ports, and how many descriptors there are.

use std::{
    io,
    net::{SocketAddr, TcpListener},
};

use rustix::process::{Resource, getrlimit, setrlimit};
use socket2::{Domain, Protocol, Socket, Type};

use crate::Error;

/// Opens `count` listeners on one port. They share it, so another process of the same user could
/// quietly join them: a first listener that does not share makes sure that nobody is there.
pub(crate) fn listen(
    wanted: SocketAddr,
    count: usize,
) -> Result<(Vec<TcpListener>, SocketAddr), Error> {
    open(wanted, count).map_err(|source| Error::Listen { address: wanted, source })
}

fn open(wanted: SocketAddr, count: usize) -> io::Result<(Vec<TcpListener>, SocketAddr)> {
    if wanted.port() != 0 {
        drop(listener(wanted, false)?);
    }
    let first = listener(wanted, true)?;
    let address = first.local_addr()?;
    let others = (1..count).map(|_| listener(address, true));
    let listeners = std::iter::once(Ok(first)).chain(others).collect::<io::Result<_>>()?;
    Ok((listeners, address))
}

fn listener(address: SocketAddr, shared: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    Ok(socket.into())
}

/// Raises the limit of open descriptors as far as it goes, and returns how many connections there may be: four
/// fifths of it, so that files, origins and databases find theirs.
pub(crate) fn connections_max() -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // A system that refuses leaves what there was.
    let _ = setrlimit(Resource::Nofile, limit);
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(descriptors.saturating_mul(4) / 5).unwrap_or(usize::MAX)
}
