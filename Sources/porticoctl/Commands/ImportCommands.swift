import ArgumentParser
import CSV
import Foundation
import Synchronization
import ValueTree
import WireFormats

struct EmployeeCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "employees", abstract: "Administers employees.", subcommands: [Import.self])

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Loads employees from a file, all of them or none (CSV, JSON, plist, XML).")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var file: ImportedFile

        func run() async throws { try await file.load(into: "employees", options) }
    }
}

struct UserCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "Administers users.", subcommands: [Import.self])

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Loads users from a file, all of them or none (CSV, JSON, plist, XML).")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var file: ImportedFile

        func run() async throws { try await file.load(into: "users", options) }
    }
}

extension CSVSeparator: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }

    public var defaultValueDescription: String { name }

    public static var allValueStrings: [String] { allCases.map(\.name) }
}

/// A file of records and what becomes of those that are there already.
struct ImportedFile: ParsableArguments {
    enum Mode: String, ExpressibleByArgument, CaseIterable {
        case append
        case replace
    }

    @Argument(help: "The file; its extension decides the format.") var file: String
    @Option(help: "What separates the fields of a CSV file: comma, semicolon, tab or bar, or the character.")
    var separator: CSVSeparator = .comma
    @Option(help: "append to what is there, or replace it.") var mode: Mode = .append
    @Flag(
        help:
            "Let a replacement delete more than half of 20 or more records, or all by a file without rows. --yes does not say so."
    )
    var acceptLoss = false
    @OptionGroup var confirmation: Confirmation

    /// Throws where what is there is to be replaced and that is not confirmed.
    func confirm(_ target: String) throws {
        if mode == .replace { try confirmation.ask("Replace all of \(target) by \(file)?") }
    }

    func load(into adapter: String, _ options: ConnectionOptions) async throws {
        try confirm(adapter)
        let progress = ProgressBar()
        progress.show("reading \(file)", 0.1)
        let bytes = try FileContents.read(file)
        progress.show("loading \(bytes.count) bytes", 0.5)
        defer { progress.end() }
        let path = Self.path(adapter, mode: mode.rawValue, beside: members)
        let type = try FileContents.mediaType(of: file)
        let result = try await options.withConnection { try await $0.post(path, file: bytes, type: type) }
        progress.end()
        try Printer(style: options.output).show(result)
    }

    /// What is said of the file beside its rows.
    var members: [String: String] {
        var members = acceptLoss ? ["acceptLoss": "true"] : [:]
        if separator != .comma { members["separator"] = separator.name }
        return members
    }

    /// Where an adapter's import is posted to.
    static func path(_ adapter: String, mode: String, beside: [String: String]) -> String {
        let more = beside.sorted { $0.key < $1.key }
            .compactMap { name, value in
                value.addingPercentEncoding(withAllowedCharacters: .alphanumerics).map { "&\(name)=\($0)" }
            }
        return "/admin/v1/adapters/\(adapter)/import?mode=\(mode)\(more.joined())"
    }
}

/// A file that is one value.
enum DocumentFile {
    static func read(_ path: String) throws -> WireValue {
        let bytes = try FileContents.read(path)
        guard let type = MediaType(try FileContents.mediaType(of: path)),
            let format = FormatCatalogue.standard.format(reading: type, body: bytes)
        else { throw CommandError("\(path) is in no format that a value can be read from.", exitStatus: 2) }
        do {
            return try format.read(bytes)
        } catch {
            throw CommandError("\(path): \(error)")
        }
    }
}

/// Files as they are sent.
enum FileContents {
    static func read(_ path: String) throws -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandError.unreadable(path)
        }
        return Array(data)
    }

    /// By the file's ending. Throws for an unknown one, instead of guessing.
    static func mediaType(of path: String) throws -> String {
        switch URL(fileURLWithPath: path).pathExtension.lowercased() {
        case "csv": return "text/csv"
        case "json": return "application/json"
        case "plist", "bplist": return "application/x-plist"
        case "xml": return "application/xml"
        case "cbor": return "application/cbor"
        default:
            throw CommandError(
                "The format of \(path) is not known by its ending: csv, json, plist, bplist, xml, cbor.", exitStatus: 2)
        }
    }
}

/// Sends a file of records part by part, each a transaction, and says what of it was loaded.
struct ImportUpload {
    let file: ImportedFile
    let adapter: String
    /// What the adapter asks for besides the rows.
    let beside: [String: String]
    /// The line or row at which it begins.
    let from: Int
    let options: ConnectionOptions

    private struct Outcome {
        var created: Int64 = 0
        var deleted: Int64 = 0
        /// Entities that are there and that parts after the first have again.
        var keptLater: Int64 = 0
    }

    func run() async throws {
        Interruption.watch()
        let progress = ProgressBar()
        defer { progress.end() }
        let outcome = try await options.withConnection { connection in
            var checked = Outcome()
            if try isLong() {
                checked = try await send(over: connection, checking: true, progress)
            }
            return try await send(over: connection, checking: false, keeps: checked.keptLater, progress)
        }
        progress.end()
        try Printer(style: options.output).show([
            "created": .int64(outcome.created), "deleted": .int64(outcome.deleted),
        ])
    }

    /// Whether there is more than one part: a single one is checked by its own transaction.
    private func isLong() throws -> Bool {
        let parts = try PartReader(file.file, from: from, separator: file.separator)
        return try parts.next() != nil && parts.next() != nil
    }

    /// `keeps`: as the check has found, for a replacement that must know its whole loss at its first part.
    private func send(
        over connection: GatewayConnection, checking: Bool, keeps: Int64 = 0, _ progress: ProgressBar
    ) async throws -> Outcome {
        let parts = try PartReader(file.file, from: from, separator: file.separator)
        var (outcome, isFirst) = (Outcome(), true)
        while let part = try parts.next() {
            if Interruption.isAsked { throw stopError(before: part, outcome, checking) }
            let step = checking ? "checking" : "loading, \(outcome.created) rows are kept"
            progress.show("\(step) (\(part.location))", parts.fraction)
            let mode = checking ? "check" : isFirst ? file.mode.rawValue : ImportedFile.Mode.append.rawValue
            do {
                var members = beside.merging(part.position) { $1 }.merging(file.members) { $1 }
                if isFirst, keeps > 0 { members["keeps"] = String(keeps) }
                let path = ImportedFile.path(adapter, mode: mode, beside: members)
                let answer = try await connection.post(path, file: part.bytes, type: parts.mediaType)
                outcome.created += answer["created"]?.int64Value ?? 0
                outcome.deleted += answer["deleted"]?.int64Value ?? 0
                if !isFirst { outcome.keptLater += answer["kept"]?.int64Value ?? 0 }
            } catch let failure as CommandError {
                throw explain(failure, part, outcome, checking)
            }
            isFirst = false
        }
        return outcome
    }

    private func stopError(before part: PartReader.Part, _ outcome: Outcome, _ checking: Bool) -> CommandError {
        CommandError("Stopped before \(part.location). \(keptRowsText(outcome, before: part, checking))")
    }

    private func explain(
        _ failure: CommandError, _ part: PartReader.Part, _ outcome: Outcome, _ checking: Bool
    ) -> CommandError {
        let doubt =
            failure.isUnanswered && !checking
            ? " Whether the part that begins at \(part.location) was loaded is not known." : ""
        let kept = keptRowsText(outcome, before: part, checking)
        return CommandError("\(failure.message)\(doubt) \(kept)", exitStatus: failure.exitStatus)
    }

    private func keptRowsText(_ outcome: Outcome, before part: PartReader.Part, _ checking: Bool) -> String {
        guard !checking, outcome.created + outcome.deleted > 0 else { return "Nothing was loaded." }
        let removed = outcome.deleted > 0 ? " \(outcome.deleted) that were there before were removed." : ""
        return
            "\(outcome.created) rows before \(part.location) are kept.\(removed) `--from \(part.first)` goes on after them."
    }
}

/// Whether Ctrl-C was pressed. The second time ends the program at once, as it would without this.
enum Interruption {
    private static let asked = Atomic<Bool>(false)

    static func watch() {
        // A handler may do little; atomics and write(2) are safe in it (signal-safety(7)).
        signal(SIGINT) { _ in
            if Interruption.asked.exchange(true, ordering: .relaxed) {
                signal(SIGINT, SIG_DFL)
                raise(SIGINT)
            }
            let words: StaticString = "\nstops after the part that is under way\n"
            _ = write(STDERR_FILENO, words.utf8Start, words.utf8CodeUnitCount)
        }
    }

    static var isAsked: Bool { asked.load(ordering: .relaxed) }
}
