//! How a process hands its standard input to the next, whose own standard input is a socket to it.
//!
//! Safe code can take over no open file but the three standard streams. So the socket comes as standard input,
//! and the real one follows through the socket, with a witness beside it where there is one: an open file that
//! tells the one process of the other's end.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Open files travel with at least one byte; this one means nothing.
const COMPANION: [u8; 1] = [b'\n'];

/// What a process was handed. None of it is inherited by processes to be started.
#[derive(Debug)]
pub(crate) struct Handed {
    /// The socket that this process has for standard input.
    pub(crate) socket: UnixStream,
    /// What should be its standard input.
    pub(crate) input: OwnedFd,
    pub(crate) witness: Option<OwnedFd>,
}

/// A pair of sockets: the first for this process, the second as standard input of a process to be started, which
/// [`receive`]s `input` and `witness` from it.
pub(crate) fn pair(
    input: BorrowedFd<'_>,
    witness: Option<BorrowedFd<'_>>,
) -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = UnixStream::pair()?;
    let files: Vec<_> = [Some(input), witness].into_iter().flatten().collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(
        ancillary.push(SendAncillaryMessage::ScmRights(&files)),
        "there is space for two files"
    );
    let bytes = [IoSlice::new(&COMPANION)];
    sendmsg(&ours, &bytes, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok((ours, theirs.into()))
}

/// What the process that started this one has handed to it.
pub(crate) fn receive() -> io::Result<Handed> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut byte = COMPANION;
    let mut bytes = [IoSliceMut::new(&mut byte)];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(&socket, &mut bytes, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let files = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let mut files = files.into_iter().flatten();
    Ok(Handed {
        input: files.next().ok_or(io::ErrorKind::UnexpectedEof)?,
        witness: files.next(),
        socket,
    })
}
