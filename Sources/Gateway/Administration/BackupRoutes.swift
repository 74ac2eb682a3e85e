import AdapterKit
import HTTPTypes
import ValueTree

/// The backups that the gateway makes by itself. Every method throws ``PorticoError`` with a sentence for operators.
public protocol BackupControl: Sendable {
    /// Where they go, of when the state is that could be restored, and what is wrong. Waits for nothing.
    func status() -> WireValue

    /// The full copies, the latest first.
    func copies() async throws -> [WireValue]

    /// Makes a full copy, and returns once it was restored and checked.
    func makeCopy() async throws -> WireValue

    /// Restores a copy apart, and reads all of it; nil: the last one, with everything since.
    func verify(_ name: String?) async throws -> WireValue
}

/// `porticoctl backup` without a directory, and `porticoctl backups`.
struct BackupRoutes: Sendable {
    /// Nil: none are configured.
    let backups: (any BackupControl)?
    let services: GatewayServices

    private static let verification = ObjectShape(
        "BackupVerification", members: [Member("copy", .string(maximumLength: 64))])

    func routes() -> [Route] {
        [
            Route(
                .get, "/admin/v1/backups",
                AdministrationEndpoint("backups.list", .read, "The copies at the backup target.", services: services) {
                    _, _ in
                    let backups = try requireBackups()
                    return ["status": backups.status(), "copies": .array(try await backups.copies())]
                }),
            Route(
                .post, "/admin/v1/backups",
                AdministrationEndpoint(
                    "backups.make", .change, "Makes a copy at the backup target, and checks it.", services: services
                ) { _, _ in try await requireBackups().makeCopy() }),
            Route(
                .post, "/admin/v1/backups/verification",
                AdministrationEndpoint(
                    "backups.verify", .change, "Restores a copy apart, and reads all of it.",
                    input: Self.verification, services: services
                ) { try await requireBackups().verify($1["copy"]?.stringValue) }),
        ]
    }

    private func requireBackups() throws(PorticoError) -> any BackupControl {
        guard let backups else {
            throw PorticoError(
                .recordNotFound, "No backups are configured: backups.target of the configuration says where they go.")
        }
        return backups
    }
}
