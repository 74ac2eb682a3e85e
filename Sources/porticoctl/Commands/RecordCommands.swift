import ArgumentParser
import ValueTree
import WireFormats

struct Records: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The rows of every adapter's entities: to look at, and to change where they belong to no caller.",
        discussion: """
            Rows that belong to callers need the role admin and a reason, each look at them is in the audit log, and nobody \
            changes them here. A change of a mirror waits to be made in the other system.
            """,
        subcommands: [Entities.self, List.self, Show.self, History.self, Set.self, Delete.self])

    struct Name: ParsableArguments {
        @Argument(help: "The entity: ADAPTER/ENTITY.") var name: String

        func validate() throws {
            let parts = name.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, !parts.contains("") else {
                throw ValidationError(
                    "\(name) is no entity: its name is ADAPTER/ENTITY, as `porticoctl records entities` shows it.")
            }
        }

        func path(_ verb: String) -> String {
            let parts = name.split(separator: "/", omittingEmptySubsequences: false)
            return "/admin/v1/records/" + parts.map { String($0).asPathSegment }.joined(separator: "/") + "/\(verb)"
        }
    }

    struct Reason: ParsableArguments {
        @Option(help: "Why; needed where the rows belong to callers. It stands in the audit log.") var reason: String?

        func adding(to body: WireDictionary) -> WireValue {
            var body = body
            if let reason { body["reason"] = .string(reason) }
            return .dictionary(body)
        }
    }

    struct Entities: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the entities of every adapter.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            try await options.show(
                "/admin/v1/records",
                columns: ["name", "mirrorOf", "needsReason", "obstacle", "summary"], list: "entities")
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists records, a page at a time.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var entity: Name
        @OptionGroup var reason: Reason
        @Option(help: "Which, such as \"title eq 'x'\".") var filter: String?
        @Option(help: "Words that the search fields have.") var search: String?
        @Option(help: "Fields by comma, a hyphen before one for descending.") var order: String?
        @Option(help: "How many, 100 without it.") var limit: Int?
        @Option(help: "Where the page before ended: its `next`.") var cursor: String?

        func run() async throws {
            var body: WireDictionary = [:]
            for (name, text) in [("filter", filter), ("search", search), ("order", order), ("cursor", cursor)] {
                if let text { body[name] = .string(text) }
            }
            if let limit { body["limit"] = .int64(Int64(limit)) }
            let value = try await options.withConnection {
                try await $0.post(entity.path("list"), reason.adding(to: body))
            }
            let rows = (value["items"]?.arrayValue ?? []).compactMap { $0["fields"] }
            var columns: [String] = []
            for name in rows.flatMap({ $0.dictionaryValue?.map(\.key) ?? [] }) where !columns.contains(name) {
                columns.append(name)
            }
            try Printer(style: options.output).show(value) {
                rows.isEmpty ? "There are none." : Table(columns: columns, rows: rows).text
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Shows a record.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var entity: Name
        @OptionGroup var reason: Reason
        @Argument(help: "The record's id.") var id: String

        func run() async throws {
            let value = try await options.withConnection {
                try await $0.post(entity.path("show"), reason.adding(to: ["id": .string(id)]))
            }
            try Printer(style: options.output).show(value)
        }
    }

    struct History: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Shows what of the log is one record's.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var entity: Name
        @OptionGroup var reason: Reason
        @Argument(help: "The record's id.") var id: String

        func run() async throws {
            let value = try await options.withConnection {
                try await $0.post(entity.path("history"), reason.adding(to: ["id": .string(id)]))
            }
            try Printer(style: options.output).show(
                value, columns: ["position", "time", "kind", "changed"], list: "changes")
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Changes fields of a record.",
            discussion: "A value is JSON where it can be read as that, else text: GPA=3.5 LastName=Lovelace Note=null.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var entity: Name
        @Argument(help: "The record's id.") var id: String
        @Argument(help: "FIELD=VALUE.") var fields: [String]
        @Option(help: "Changes it only where this is its revision still.") var revision: Int64?

        func run() async throws {
            var changed: WireDictionary = [:]
            for field in fields {
                let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                guard parts.count == 2, !parts[0].isEmpty else {
                    throw CommandError("\(field) is no change: FIELD=VALUE.", exitStatus: 2)
                }
                changed[parts[0]] = Self.value(parts[1])
            }
            var body: WireDictionary = ["id": .string(id), "fields": .dictionary(changed)]
            if let revision { body["revision"] = .int64(revision) }
            let input = WireValue.dictionary(body)
            let value = try await options.withConnection { try await $0.post(entity.path("set"), input) }
            try Printer(style: options.output).show(value)
        }

        /// The gateway reads a text by its field's type; null, lists and objects are written in JSON.
        private static func value(_ text: String) -> WireValue {
            guard text == "null" || text.hasPrefix("[") || text.hasPrefix("{") else { return .string(text) }
            return (try? JSONFormat().read(Array(text.utf8))) ?? .string(text)
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Deletes a record, and those that belong to it.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var entity: Name
        @OptionGroup var confirmation: Confirmation
        @Argument(help: "The record's id.") var id: String
        @Option(help: "Deletes it only where this is its revision still.") var revision: Int64?

        func run() async throws {
            try confirmation.ask("Delete \(entity.name) \(id)?")
            var body: WireDictionary = ["id": .string(id)]
            if let revision { body["revision"] = .int64(revision) }
            let input = WireValue.dictionary(body)
            _ = try await options.withConnection { try await $0.post(entity.path("delete"), input) }
            try Printer(style: options.output).reportDone("\(id) is deleted.")
        }
    }
}
