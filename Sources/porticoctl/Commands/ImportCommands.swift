import ArgumentParser
import Foundation
import ValueTree
import WireFormats

struct Employees: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Administers employees.", subcommands: [Import.self])

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Loads employees from a file, all of them or none (CSV, JSON, plist, XML).")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var file: ImportedFile

        func run() async throws { try await file.load(into: "employees", options) }
    }
}

struct Users: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Administers users.", subcommands: [Import.self])

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Loads users from a file, all of them or none (CSV, JSON, plist, XML).")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var file: ImportedFile

        func run() async throws { try await file.load(into: "users", options) }
    }
}

/// A file of records and what becomes of those that are there already.
struct ImportedFile: ParsableArguments {
    enum Mode: String, ExpressibleByArgument, CaseIterable {
        case append
        case replace
    }

    @Argument(help: "The file; its ending tells the format.") var file: String
    @Option(help: "append to what is there, or replace it.") var mode: Mode = .append

    func load(into adapter: String, _ options: ConnectionOptions) async throws {
        let progress = ProgressBar()
        progress.show("reading \(file)", 0.1)
        let bytes = try FileContents.read(file)
        progress.show("loading \(bytes.count) bytes", 0.5)
        defer { progress.end() }
        let path = Self.path(adapter, mode: mode.rawValue, beside: [:])
        let type = try FileContents.mediaType(of: file)
        let result = try await options.withConnection { try await $0.post(path, file: bytes, type: type) }
        progress.end()
        try Printer(style: options.output).show(result)
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
        else { throw Failure("\(path) is in no format that a value can be read from.", exitStatus: 2) }
        do {
            return try format.read(bytes)
        } catch {
            throw Failure("\(path): \(error)")
        }
    }
}

/// Files as they are sent.
enum FileContents {
    static func read(_ path: String) throws -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else { throw Failure("\(path) cannot be read.") }
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
            throw Failure(
                "The format of \(path) is not known by its ending: csv, json, plist, bplist, xml, cbor.", exitStatus: 2)
        }
    }
}
