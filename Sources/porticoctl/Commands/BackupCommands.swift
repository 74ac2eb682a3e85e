import AdapterKit
import ArgumentParser
import Backups
import CommandLineSupport
import Foundation
import IPAddresses
import RecordStorage
import Upstream
import ValueTree

struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a full copy at the backup target, or in a new directory, and checks it.",
        discussion: """
            Without a directory the copy is made where backups.target of the configuration says, beside those that the gateway \
            makes by itself, and counts as one of them. With one, the store and the attachments are copied into it.
            """)

    @OptionGroup var options: ConnectionOptions
    @Argument(help: "A directory that is not there yet, on the gateway's machine.") var directory: String?

    func run() async throws {
        guard let directory else { return try await copyToTarget() }
        let path = URL(fileURLWithPath: directory).standardizedFileURL.path
        let value = try await options.withConnection {
            try await $0.post("/admin/v1/backup", ["directory": .string(path)])
        }
        try Printer(style: options.output).show(value) {
            "The backup \(path.visible) is complete and was checked: \(StoreReport(value).contents)."
                + StoreReport(value).damage
        }
    }

    private func copyToTarget() async throws {
        let value = try await options.withConnection { try await $0.post("/admin/v1/backups", [:]) }
        try Printer(style: options.output).show(value) {
            "The copy \(CopyReport(value).text), is complete; it was restored and checked."
        }
    }
}

/// The copies at a backup target.
struct BackupCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backups", abstract: "Lists and verifies the copies at the backup target.",
        subcommands: [List.self, Verify.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the copies, the latest first.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var source: BackupSource

        func run() async throws {
            let value: WireValue
            if let place = source.from {
                value = try await source.withTarget(place) { target -> WireValue in
                    [
                        "copies": .array(
                            try await BackupReader(target).copies().map { copy in
                                .dictionary(
                                    copy.manifest?.members(isVerified: copy.isVerified) ?? [
                                        "name": .string(copy.name.text), "verified": false,
                                        "problem": copy.problem.map { .string($0) } ?? .null,
                                    ])
                            })
                    ]
                }
            } else {
                value = try await options.withConnection { try await $0.get("/admin/v1/backups") }
            }
            try Printer(style: options.output).show(value) { Self.words(value) }
        }

        private static func words(_ value: WireValue) -> String {
            let copies = value["copies"]?.arrayValue ?? []
            let rows = copies.map { copy -> WireValue in
                [
                    "copy": copy["name"] ?? .null,
                    "checked": copy["problem"]?.stringValue == nil
                        ? (copy["verified"]?.boolValue == true ? "yes" : "not yet") : copy["problem"] ?? .null,
                    "size": copy["bytes"]?.int64Value.map { .string(Figures.bytes($0)) } ?? "",
                    "attachments": copy["attachments"]?.int64Value.map { .string(Figures.count($0)) } ?? "",
                ]
            }
            let table =
                rows.isEmpty
                ? "There are no copies." : Table(columns: ["copy", "checked", "size", "attachments"], rows: rows).text
            guard let status = value["status"] else { return table }
            let time = status["state"]?.dateValue?.rfc3339 ?? status["state"]?.stringValue
            let state =
                time.map { "A restore gives the gateway as it was at \($0.visible)." }
                ?? "What was committed since the last copy is not there yet."
            let problem = status["problem"]?.stringValue.map { "\nProblem: \($0.visible)" } ?? ""
            return
                "Target: \(status["target"]?.stringValue?.visible ?? ""). \(state)\(problem)\n\n\(table)"
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Restores a copy apart and reads all of it; exit status 1 where anything is missing or damaged.",
            discussion: "Without a name it is the last verified copy, with everything that was written since.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var source: BackupSource
        @Argument(help: "The copy's name; backups list shows them.") var copy: String?

        func run() async throws {
            let value: WireValue
            if let place = source.from {
                value = try await source.withTarget(place) { try await verify(at: $0) }
            } else {
                let body: WireDictionary = copy.map { name -> WireDictionary in ["copy": .string(name)] } ?? [:]
                value = try await options.withConnection {
                    try await $0.post("/admin/v1/backups/verification", .dictionary(body))
                }
            }
            try Printer(style: options.output).show(value) {
                "The copy \(CopyReport(value).text), was restored and checked, and is good."
            }
            guard let piece = value["missingPiece"]?.int64Value else { return }
            throw CommandError(
                "A piece of its log is missing (\(piece)), and what came after it is lost: make a new copy.")
        }

        private func verify(at target: any BackupTarget) async throws -> WireValue {
            let reader = BackupReader(target)
            let manifest = try await reader.copy(named: copy)
            let work = FileManager.default.temporaryDirectory.appending(path: "portico-verify-\(UUID().uuidString)")
                .path
            try FileManager.default.createDirectory(
                atPath: work, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            defer { try? FileManager.default.removeItem(atPath: work) }
            let (summary, database) = try await reader.verify(
                manifest, work: work, copy == nil ? .latest : .copy
            ) { _ in true }
            var members = manifest.members(isVerified: true)
            members["position"] = .int64(summary.position.number)
            members["missingPiece"] = database.missing.map { .int64($0) } ?? .null
            return .dictionary(members)
        }
    }
}

/// A backup target that is read without a gateway.
struct BackupSource: ParsableArguments {
    @Option(help: "A backup target to read without the gateway: its folder, or s3://BUCKET/PREFIX.")
    var from: String?
    @OptionGroup var storage: ObjectStorageOptions

    /// Throws ``CommandError``.
    func withTarget<Result>(_ place: String, _ body: (any BackupTarget) async throws -> Result) async throws -> Result {
        try await storage.withTarget(place, body)
    }
}

/// How an object storage is reached without a gateway's configuration.
struct ObjectStorageOptions: ParsableArguments {
    @Option(help: "Of s3://…: the address of the service. Left out: Amazon's of the region.") var endpoint: String?
    @Option(help: "Of s3://…: the bucket's region.") var region = "us-east-1"
    @Option(help: "Of s3://…: a network that is not public and may be asked, such as 10.1.0.0/16.") var network:
        [String] = []
    @Option(help: "Of s3://…: who vouches for the service's certificate, beside the system's (PEM file).")
    var storageAuthorities: String?

    static let scheme = "s3://"

    /// Whether this is a target, and not a directory that `porticoctl backup DIRECTORY` made.
    static func isTarget(_ place: String) -> Bool {
        place.hasPrefix(scheme)
            || FileManager.default.fileExists(atPath: URL(fileURLWithPath: place).appending(path: "copies").path)
    }

    /// Throws ``CommandError``.
    func withTarget<Result>(_ place: String, _ body: (any BackupTarget) async throws -> Result) async throws -> Result {
        do {
            guard place.hasPrefix(Self.scheme) else {
                return try await body(FolderTarget(URL(fileURLWithPath: place).standardizedFileURL.path))
            }
            let upstream = HTTPUpstream(try settings(), log: .discarding)
            do {
                let result = try await body(
                    S3Target(try location(place), through: upstream, clock: MachineClock()))
                await upstream.stop()
                return result
            } catch {
                await upstream.stop()
                throw error
            }
        } catch let error as PorticoError {
            throw CommandError(error.message)
        }
    }

    private func location(_ place: String) throws -> S3Place {
        let environment = ProcessInfo.processInfo.environment
        guard let access = environment["AWS_ACCESS_KEY_ID"], let secret = environment["AWS_SECRET_ACCESS_KEY"] else {
            throw CommandError(
                "The keys of the object storage are taken from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
                exitStatus: 2)
        }
        let parts = place.dropFirst(Self.scheme.count).split(separator: "/", maxSplits: 1)
        let location = S3Place(
            bucket: String(parts.first ?? ""), region: region, prefix: parts.count > 1 ? String(parts[1]) : "",
            accessKey: Secret(access), secretKey: Secret(secret))
        guard let location else {
            throw CommandError("\(place.visible) is no place such as s3://bucket/prefix.", exitStatus: 2)
        }
        return location
    }

    private func settings() throws -> UpstreamSettings {
        let text = endpoint ?? "https://s3.\(region).amazonaws.com/"
        guard let url = UpstreamAddress(text.hasSuffix("/") ? text : text + "/") else {
            throw CommandError("\(text.visible) is no http or https address.", exitStatus: 2)
        }
        var settings = UpstreamSettings(name: "storage", url: url)
        settings.privateNetworks = try network.map { text in
            guard let range = AddressRange(text) else {
                throw CommandError("\(text.visible) is no network such as 10.1.0.0/16.", exitStatus: 2)
            }
            return range
        }
        settings.trustedCertificates = storageAuthorities.map { [$0] } ?? []
        settings.limits.answer = 32 << 20
        return settings
    }
}

/// One copy, in words.
struct CopyReport {
    private let value: WireValue

    init(_ value: WireValue) { self.value = value }

    /// Name, time and size, without a full stop.
    var text: String {
        let attachments = value["attachments"]?.int64Value ?? 0
        let files = attachments == 0 ? "" : " with \(Figures.count(attachments, "attachment"))"
        return
            "\(value["name"]?.stringValue?.visible ?? "") of \(Figures.bytes(value["bytes"]?.int64Value ?? 0))\(files), "
            + "begun at \(value["begun"]?.stringValue?.visible ?? "")"
    }
}

/// The machine's clock.
private struct MachineClock: WallClock {
    func now() -> WireDate { WireDate(secondsSince1970: Date().timeIntervalSince1970) }
}
