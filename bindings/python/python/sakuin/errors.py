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


class NewerFormat(OpenError):
    """A later release wrote the file."""


class Damaged(OpenError):
    """The file was cut or changed; what is damaged is never answered from."""


class KeysNotStored(Error):
    """The table keeps fingerprints in place of its keys, and cannot list them."""


class PackError(Error):
    """A table was not packed; the file is as it was before."""


class DuplicateKey(PackError):
    """A key came twice, and nothing says which value to keep."""
