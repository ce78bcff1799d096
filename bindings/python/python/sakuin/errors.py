"""What goes wrong, a class for each kind. A file that is not there is Python's own `FileNotFoundError`."""


class Error(Exception):
    """Any error of this package. `hint` says what to do about it, where there is something to do."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")
        self.hint = hint


class OpenError(Error):
    """A file that was not opened."""


class NotATable(OpenError):
    """The file is something else."""


class InUse(OpenError):
    """Another process has the store open."""


class NotBits(Error, ValueError):
    """The bytes are no packed integers."""


class NewerFormat(OpenError):
    """A later release wrote the file."""


class Damaged(OpenError):
    """The file was cut or changed; what is damaged is never answered from."""


class KeysNotStored(Error):
    """The table keeps fingerprints in place of its keys, and cannot list them."""


class InvalidValue(Error, ValueError):
    """A value that does not fit its table."""


class InvalidFilter(Error, ValueError):
    """A filter that cannot be read; the message says where."""


class NotFound(Error, LookupError):
    """A record that is to be changed is not there."""


class Conflict(Error):
    """Another transaction was faster, and changed what this one read. Nothing was written."""

    retry_at: int = 0


class TooLarge(Error):
    """More than one transaction or call takes."""


class ReadOnly(Error):
    """The disk failed or the store was closed: nothing more is written, and reading goes on."""


class OutcomeUnknown(Error):
    """What failed, failed while this was written: whether it was is known when the store is there again."""


class Unavailable(Error, ConnectionError):
    """The server cannot be reached, or does not answer in time."""


class Unsupported(Error):
    """The server, or the way it is asked, does not do this."""


class PackError(Error):
    """A table was not packed; the file is as it was before."""


class DuplicateKey(PackError):
    """A key came twice, and nothing says which value to keep."""
