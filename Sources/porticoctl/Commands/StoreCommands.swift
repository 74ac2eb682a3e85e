import AdapterKit
import ArgumentParser
import AttachmentFiles
import CommandLineSupport
import DurableFiles
import Foundation
import RecordStorage
import SQLiteStore
import ValueTree

/// The store as it is now.
struct StoreCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store", abstract: "Shows and checks the store.", subcommands: [Check.self, Stats.self])

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Reads the whole store while it is used; exit status 1 where something is wrong.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            let value = try await options.withConnection { try await $0.get("/admin/v1/store/check") }
            try Printer(style: options.output).show(value) {
                "The store was read as a whole and is sound: \(StoreReport(value).contents)."
            }
        }
    }

    struct Stats: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows positions, bytes, and the rows of each collection.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            let value = try await options.withConnection { try await $0.get("/admin/v1/store") }
            try Printer(style: options.output).show(value) { StoreReport(value).text }
        }
    }
}

struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copies the store and the attachments into a new directory while they are used, and checks the copy.")

    @OptionGroup var options: ConnectionOptions
    @Argument(help: "A directory that is not there yet, on the gateway's machine.") var directory: String

    func run() async throws {
        let path = URL(fileURLWithPath: directory).standardizedFileURL.path
        let value = try await options.withConnection {
            try await $0.post("/admin/v1/backup", ["directory": .string(path)])
        }
        try Printer(style: options.output).show(value) {
            "The backup \(path.visible) is complete and was checked: \(StoreReport(value).contents)."
                + StoreReport(value).damage
        }
    }
}

struct Restore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks a backup and puts it in the store's place when the gateway is started next.",
        discussion: """
            What is there is kept beside it, as portico.sqlite.replaced; attachments join those that are there. The restored store has a new epoch, so every \
            device starts over. A gateway that runs goes on with what it has until it is started again.
            """)

    @OptionGroup var options: ConnectionOptions
    @Option(help: "The store's file, in the data directory: store.path of the configuration.")
    var store = "portico.sqlite"
    @Flag(help: "Takes a backup without a list of its files, as earlier versions made them; it is less checked.")
    var withoutList = false
    @Flag(help: "Leaves out attachments that are damaged or missing, and names them.")
    var leaveOutDamaged = false
    @OptionGroup var confirmation: Confirmation
    @Argument(help: "A directory that backup made.") var directory: String

    func run() async throws {
        guard case .data(let folder) = options.place else {
            throw CommandError(
                "restore works on the data directory of the machine: name it with --data.", exitStatus: 2)
        }
        try confirmation.ask("Put the backup in the store's place at the next start?")
        let data = URL(fileURLWithPath: folder, isDirectory: true)
        try FileManager.default.createDirectory(
            at: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let restore = StoreRestore(path: URL(fileURLWithPath: store, relativeTo: data).absoluteURL.path)
        let attachments = AttachmentRestore(into: data.appendingPathComponent(AttachmentFiles.folderName))
        do {
            let backup = try BackupFolder(
                URL(fileURLWithPath: directory).path,
                tolerating: BackupFolder.Tolerance(missingList: withoutList, damagedAttachments: leaveOutDamaged))
            let copies = try attachments.copy(from: backup)
            let summary: BackupSummary
            do {
                summary = try restore.prepare(from: backup) { try attachments.accept() }
            } catch {
                // Without the store that names them they are not wanted either.
                try? attachments.discard()
                throw error
            }
            let value: WireValue = [
                "takesEffect": "at the gateway's next start", "position": .int64(summary.position.number),
                "floor": .int64(summary.floor.number), "bytes": .int64(summary.size),
                "attachments": [
                    "count": .int64(Int64(copies.count)), "bytes": .int64(copies.bytes),
                    "damaged": .array(copies.damaged.map { .string($0.text) }),
                ],
            ]
            try Printer(style: options.output).show(value) {
                "The gateway takes the backup at its next start: \(StoreReport(value).contents).\(StoreReport(value).damage)"
            }
        } catch let error as PorticoError {
            throw CommandError(error.message)
        }
    }
}

/// What a store or a backup holds, in words.
struct StoreReport {
    private let value: WireValue

    init(_ value: WireValue) {
        self.value = value
    }

    /// Without a full stop.
    var contents: String {
        var parts = [size]
        if let rows = value["rows"]?.dictionaryValue {
            let count = rows.reduce(Int64(0)) { $0 + ($1.value.int64Value ?? 0) }
            parts.append("\(Figures.count(count, "row")) in \(Figures.count(Int64(rows.count), "collection"))")
        }
        if let attachments = value["attachments"], let count = attachments["count"]?.int64Value {
            parts.append(
                "\(Figures.count(count, "attachment")) of \(Figures.bytes(attachments["bytes"]?.int64Value ?? 0))")
        }
        return parts.joined(separator: ", ") + "; \(log)"
    }

    /// A sentence with a line end before it; empty where nothing is damaged.
    var damage: String {
        let damaged = value["attachments"]?["damaged"]?.arrayValue?.compactMap(\.stringValue) ?? []
        guard !damaged.isEmpty else { return "" }
        return "\nAttachments that are damaged or missing: \(damaged.map(\.visible).joined(separator: ", "))."
    }

    var text: String {
        let free = Figures.bytes(number("freeBytes"))
        let rows = (value["rows"]?.dictionaryValue ?? [:]).map { member -> WireValue in
            ["collection": .string(member.key), "rows": .string(Figures.count(member.value.int64Value ?? 0))]
        }
        return """
            \(size), of which \(free) are free to be used again; write-ahead log: \(Figures.bytes(number("logFileBytes")))
            \(log)

            \(Table(columns: ["collection", "rows"], rows: rows).text)
            """
    }

    private var size: String { Figures.bytes(number("bytes")) }

    private var log: String {
        let (floor, position) = (number("floor"), number("position"))
        let kept =
            position > floor ? "those after \(Figures.count(floor)) are kept for devices" : "none is kept for devices"
        return "\(Figures.count(position, "change")) so far, \(kept)"
    }

    private func number(_ name: String) -> Int64 { value[name]?.int64Value ?? 0 }
}
