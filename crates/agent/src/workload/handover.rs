//! How a process hands its standard input to the next, whose own standard input is a socket to it.
//!
//! Safe code can take over no open file but the three standard streams. So the socket comes as standard input,
//! and the real one follows through the socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// An open file travels with at least one byte; this one means nothing.
const COMPANION: [u8; 1] = [b'\n'];

/// A pair of sockets: the first for this process, the second as standard input of a process to be started, which
/// [`receive`]s `input` from it.
pub(super) fn pair(input: BorrowedFd<'_>) -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = UnixStream::pair()?;
    let files = [input];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(
        ancillary.push(SendAncillaryMessage::ScmRights(&files)),
        "there is space for one file"
    );
    let bytes = [IoSlice::new(&COMPANION)];
    sendmsg(&ours, &bytes, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok((ours, theirs.into()))
}

/// The socket that this process has for standard input, and the standard input that came through it. Neither is
/// inherited by processes to be started.
pub(super) fn receive() -> io::Result<(UnixStream, OwnedFd)> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut byte = COMPANION;
    let mut bytes = [IoSliceMut::new(&mut byte)];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(&socket, &mut bytes, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let file = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    let file = file.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok((socket, file))
}
