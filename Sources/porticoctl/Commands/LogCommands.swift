import ArgumentParser
import CommandLineSupport
import Foundation
import ValueTree
import WireFormats

struct Logs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The log's latest lines, and what is logged.",
        subcommands: [Search.self, Levels.self, SetLevel.self], defaultSubcommand: Search.self)

    struct Search: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "search", abstract: "Shows the latest lines; `porticoctl logs` alone does the same.",
            discussion: """
                The gateway keeps as many lines in memory as log.memory says; older ones are in its log's files. \
                --request takes a request's id, or an error's whole text with the id in it, and explains the error codes \
                that it finds.
                """)

        /// Between two looks at what is new.
        private static let pause = Duration.milliseconds(500)

        @OptionGroup var options: ConnectionOptions
        @Flag(help: "Goes on with new lines, until Ctrl-C.") var follow = false
        @Option(help: "The least level: trace, debug, info, notice, warning, error, critical.") var level: String?
        @Option(help: "An adapter's lines and its requests' lines.") var adapter: String?
        @Option(help: "The lines of the request whose id this is, or stands in this text.") var request: String?
        @Option(help: "The lines of the last 30s, 15m, 8h or 2d, or those since a time such as 2026-11-26T14:00:00Z.")
        var since: String?
        @Option(help: "The lines before a time such as 2026-11-26T14:05:00Z.") var until: String?
        @Flag(help: "Leaves out the requests of operators, those of the console too.") var withoutOperators = false
        @Option(help: "How many at most, the newest; left out: 100, with --since as many as there are.")
        var limit: Int64?

        func validate() throws {
            if let until, WireDate(rfc3339: until) == nil {
                throw ValidationError("--until takes a time such as 2026-11-26T14:05:00Z.")
            }
            guard let since, Figures.seconds(since) == nil, WireDate(rfc3339: since) == nil else { return }
            throw ValidationError("--since takes a time span such as 15m, or a time such as 2026-11-26T14:00:00Z.")
        }

        func run() async throws {
            try await options.withConnection { connection in
                var answer = try await search(connection, after: 0)
                show(answer)
                if answer["lines"]?.arrayValue?.isEmpty ?? true, !follow, request != nil {
                    throw CommandError(
                        "No line in memory has this request. Its id may be incomplete, or the log's files have it.")
                }
                while follow {
                    try await Task.sleep(for: Self.pause)
                    answer = try await search(connection, after: answer["last"]?.int64Value ?? 0)
                    show(answer)
                }
            }
        }

        private func search(_ connection: GatewayConnection, after number: Int64) async throws -> WireValue {
            var query: WireDictionary = [
                "after": .int64(number), "limit": .int64(limit ?? (since == nil ? 100 : 10_000)),
            ]
            if let seconds { query["since"] = .double(seconds) }
            if let until { query["until"] = .string(until) }
            if withoutOperators { query["operators"] = false }
            if let level { query["level"] = .string(level) }
            if let adapter { query["adapter"] = .string(adapter) }
            if let request { query["request"] = .string(request) }
            return try await connection.post("/admin/v1/logs/search", .dictionary(query))
        }

        /// Until now.
        private var seconds: Double? {
            guard let since else { return nil }
            if let seconds = Figures.seconds(since) { return seconds }
            return WireDate(rfc3339: since).map { Date().timeIntervalSince1970 - $0.secondsSince1970 }
        }

        /// In JSON an object a line, as the log has it.
        private func show(_ answer: WireValue) {
            for line in answer["lines"]?.arrayValue ?? [] {
                switch options.output {
                case .json: write((try? JSONFormat().write(line)) ?? [])
                case .text: write(Array(LogLine(line).text.utf8))
                }
            }
            guard request != nil, options.output == .text else { return }
            for each in answer["explanations"]?.arrayValue ?? [] {
                func text(_ name: String) -> String { (each[name]?.stringValue ?? "").visible }
                write(Array("\n\(text("code")): \(text("meaning"))\nOperator: \(text("operator"))".utf8))
            }
        }

        private func write(_ bytes: [UInt8]) { FileHandle.standardOutput.write(Data(bytes + [0x0A])) }
    }

    struct Levels: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the modules and their least levels.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            try await options.show("/admin/v1/logs/levels", columns: ["module", "level", "own"], list: "levels")
        }
    }

    struct SetLevel: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "level", abstract: "Sets a module's least level, until the gateway ends.",
            discussion: "The module `default` stands for all that have no level of their own.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "A module that `logs levels` lists.") var module: String
        @Argument(help: "The level; `default`: the general one again.") var level: String

        func run() async throws {
            var change: WireDictionary = ["module": .string(module)]
            if level != "default" { change["level"] = .string(level) }
            let value = try await options.withConnection {
                try await $0.post("/admin/v1/logs/levels", .dictionary(change))
            }
            try Printer(style: options.output).show(value, columns: ["module", "level", "own"], list: "levels")
        }
    }
}

/// A line of the log for people: time, level, message, then the other members as `key=value`.
struct LogLine {
    private let line: WireValue
    private let style: TextStyle

    init(_ line: WireValue, style: TextStyle = .output) {
        self.line = line
        self.style = style
    }

    var text: String {
        func member(_ name: String) -> String { (line[name]?.stringValue ?? "").visible }
        let level = member("level")
        let space = String(repeating: " ", count: max(1, 9 - level.count))
        let head = "\(style(.faint, member("time"))) \(emphasized(level))\(space)\(member("message"))"
        let others = (line.dictionaryValue ?? [:]).filter { !["time", "level", "message"].contains($0.key) }
        return others.reduce(head) { text, each in
            let word = each.value.word ?? ""
            guard !word.isEmpty else { return text }
            let isPlain = !word.contains { $0 == " " || $0 == "=" || $0 == "\"" }
            return "\(text) \(each.key.visible)=\(isPlain ? word : "\"\(word)\"")"
        }
    }

    private func emphasized(_ level: String) -> String {
        switch level {
        case "critical", "error": style(.red, level)
        case "warning": style(.yellow, level)
        case "debug", "trace": style(.faint, level)
        default: level
        }
    }
}
