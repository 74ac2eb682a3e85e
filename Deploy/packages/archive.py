"""Tar files that depend on the names, the contents and the executable bits of files alone."""

import gzip
import lzma
import tarfile


def write(folder, file, epoch, prefix="", owners=None):
    """`owners`: of folders, by their path below `folder`, as (user, group, mode); everything else is root's."""
    with file.open("wb") as raw:
        if file.suffix == ".gz":
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=epoch, compresslevel=6) as packed:
                write_plain(folder, packed, epoch, prefix, owners)
        elif file.suffix == ".xz":
            with lzma.open(raw, "wb", preset=6) as packed:
                write_plain(folder, packed, epoch, prefix, owners)
        else:
            write_plain(folder, raw, epoch, prefix, owners)


def write_plain(folder, stream, epoch, prefix="", owners=None):
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(folder.rglob("*")):
            below = str(path.relative_to(folder))
            entry = tar.gettarinfo(path, f"{prefix}/{below}" if prefix else below)
            # Two names of one file are two files.
            if entry.islnk():
                entry.type, entry.linkname, entry.size = tarfile.REGTYPE, "", path.stat().st_size
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = epoch
            entry.mode = 0o777 if entry.issym() else 0o755 if entry.isdir() or entry.mode & 0o111 else 0o644
            if below in (owners or {}):
                entry.uid, entry.gid, entry.mode = owners[below]
            if entry.isreg():
                with path.open("rb") as contents:
                    tar.addfile(entry, contents)
            else:
                tar.addfile(entry)
