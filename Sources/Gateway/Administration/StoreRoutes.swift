import AdapterKit
import HTTPTypes
import RecordStorage
import ValueTree

/// `porticoctl backup` and `porticoctl sync compact`.
struct StoreRoutes: Sendable {
    let upkeep: StoreMaintenance
    let services: GatewayServices

    private static let backup = ObjectShape(
        "Backup", members: [Member("directory", .string(maximumLength: 4_096), isRequired: true)])
    private static let compaction = ObjectShape("Compaction", members: [Member("dryRun", .bool)])

    func routes() -> [Route] {
        [
            Route(
                .post, "/admin/v1/backup",
                AdministrationEndpoint(
                    "backup", .writes, "Copies the store into a new directory.", input: Self.backup, services: services
                ) { try await backUp(to: $1.text("directory")) }),
            Route(
                .post, "/admin/v1/sync/compaction",
                AdministrationEndpoint(
                    "sync.compact", .writes, "Removes what of the log and of losing copies is older than its window.",
                    input: Self.compaction, services: services
                ) { try await compact(dryRun: $1["dryRun"]?.boolValue ?? false) }),
            Route(
                .post, "/admin/v1/sync/sweep",
                AdministrationEndpoint(
                    "sync.sweep", .writes, "Removes attachments that no record has named for the window.",
                    services: services
                ) { _, _ in try await sweepAttachments() }),
        ]
    }

    private func backUp(to directory: String) async throws -> WireValue {
        guard directory.hasPrefix("/") else {
            throw PorticoError(.requestInvalid, "The directory's whole path is needed.", target: "directory")
        }
        let (summary, attachments) = try await upkeep.backUp(to: directory)
        let rows = summary.rows.sorted { $0.key < $1.key }.map {
            WireDictionary.Entry(key: $0.key, value: .int64($0.value))
        }
        return [
            "directory": .string(directory), "epoch": .string(summary.epoch.text),
            "position": .int64(summary.position.number), "floor": .int64(summary.floor.number),
            "bytes": .int64(summary.size), "rows": .dictionary(WireDictionary(uncheckedUniqueKeys: rows)),
            "attachments": [
                "count": .int64(Int64(attachments.count)), "bytes": .int64(attachments.bytes),
                "damaged": .array(attachments.damaged.map { .string($0.text) }),
            ],
        ]
    }

    private func compact(dryRun: Bool) async throws -> WireValue {
        let result = try await upkeep.compact(dryRun: dryRun)
        return [
            "dryRun": .bool(dryRun), "floor": .int64(result.floor.number), "entries": .int64(Int64(result.entries)),
            "outcomes": .int64(Int64(result.outcomes)),
            "keptCopies": .int64(Int64(try await upkeep.forgetKeptCopies(dryRun: dryRun))),
        ]
    }

    private func sweepAttachments() async throws -> WireValue {
        let removal = try await upkeep.sweepAttachments()
        return [
            "attachments": .int64(Int64(removal.attachments)), "uploads": .int64(Int64(removal.uploads)),
            "bytes": .int64(removal.bytes),
        ]
    }
}
