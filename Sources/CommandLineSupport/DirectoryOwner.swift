import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The user and the group that a directory belongs to.
///
/// Root makes the first administrator of a gateway that runs as a user of its own, and restores its backups. Files that root made
/// there could not be opened by that user, and a path that this user replaces by a link must not lead root elsewhere.
public struct DirectoryOwner {
    /// Why the owner's rights are not there, as a sentence.
    public struct Refusal: Error, CustomStringConvertible {
        public let description: String
    }

    private let user: uid_t
    private let group: gid_t

    /// Throws where there is no such directory.
    public init(of path: String) throws(Refusal) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw Refusal(description: "\(path): \(Self.systemReason).") }
        (user, group) = (status.st_uid, status.st_gid)
    }

    /// Until ``endImpersonation()``, every thread of this process acts with the rights of the owner. For root alone; everyone
    /// else keeps the rights that they have.
    public func impersonate() throws(Refusal) {
        guard changes else { return }
        guard setegid(group) == 0, seteuid(user) == 0 else {
            let reason = Self.systemReason
            endImpersonation()
            throw Refusal(description: "The rights of user \(user) cannot be taken: \(reason).")
        }
    }

    /// Back to root, which the real user still is.
    public func endImpersonation() {
        guard changes else { return }
        _ = seteuid(0)
        _ = setegid(0)
    }

    private var changes: Bool { getuid() == 0 && (user != 0 || group != 0) }

    private static var systemReason: String { String(cString: strerror(errno)) }
}
