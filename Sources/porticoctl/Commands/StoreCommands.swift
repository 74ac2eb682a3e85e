import AdapterKit
import ArgumentParser
import CommandLineSupport
import Foundation
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
