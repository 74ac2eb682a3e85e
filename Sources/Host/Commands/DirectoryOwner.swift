import Glibc

/// The user and the group that a directory belongs to.
///
/// Root makes the first administrator of a gateway that runs as a user of its own. Files that root made there could not be
/// opened by that user, and a path that this user replaces by a link must not lead root elsewhere.
struct DirectoryOwner {
    private let user: uid_t
    private let group: gid_t

    /// Throws ``CommandError`` where there is no such directory.
    init(of path: String) throws(CommandError) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw CommandError("\(path): \(FileFailure.systemReason).") }
        (user, group) = (status.st_uid, status.st_gid)
    }

    /// Until ``endImpersonation()``, every thread of this process acts with the rights of the owner. For root alone; everyone
    /// else keeps the rights that they have. Throws ``CommandError``.
    func impersonate() throws(CommandError) {
        guard changes else { return }
        guard setegid(group) == 0, seteuid(user) == 0 else {
            let reason = FileFailure.systemReason
            endImpersonation()
            throw CommandError("The rights of user \(user) cannot be taken: \(reason).")
        }
    }

    /// Back to root, which the real user still is.
    func endImpersonation() {
        guard changes else { return }
        _ = seteuid(0)
        _ = setegid(0)
    }

    private var changes: Bool { getuid() == 0 && (user != 0 || group != 0) }
}
