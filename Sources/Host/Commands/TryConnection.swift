import AdapterKit
import ArgumentParser
import ConnectedSystems
import Foundation
import HostConfiguration
import Upstream
import UpstreamRecording
import WireFormats

/// `portico try`: one page of each entity of a connection file, as it would be stored. No gateway needs to run: the system
/// is called as the configuration says, with its credentials.
struct TryConnection<Program: HostProgram>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "try", abstract: "Fetches one page of what a connection file describes and stores nothing.")
    }

    @OptionGroup var options: ConfigurationOptions
    @Argument(help: "The connection file (YAML).") var connection: String
    @Option(help: "An entity of the file; all of them where it is left out.") var entity: String?
    @Option(help: "Rows that are shown of each entity.") var rows: Int = 3
    @Option(help: "text or json.") var output: TrialOutput = .text

    func run() async throws {
        let plan = try await options.plan(Program.adapters)
        let connection = try read()
        let upstream = try connection.upstream.map { named in
            guard plan.settings.upstreams[named.name] != nil else {
                let hint = plan.settings.upstreams.hint(for: named.name.text)
                throw HostCommandError("\(named.location): There is no upstream \(named.name).\(hint)")
            }
            return try plan.upstream(named.name)
        }
        let trial = ConnectionTrial(
            connection, directory: URL(fileURLWithPath: self.connection).deletingLastPathComponent().path,
            upstream: upstream?.called, clock: SystemClock(), showing: rows)
        for remark in connection.remarks {
            FileHandle.standardError.write(Data("note: \(remark)\n".utf8))
        }
        let names = trial.entities.filter { entity == nil || $0.text == entity }
        var reports: [WireDictionary] = []
        for name in names { reports.append(await trial.report(name)) }
        await upstream?.transport.stop()
        guard !names.isEmpty else { throw HostCommandError("\(self.connection) has no such entity.") }
        switch output {
        case .json:
            let value = WireValue.array(reports.map { .dictionary($0) })
            print(
                String(decoding: try JSONFormat().write(value, options: WritingOptions(layout: .pretty)), as: UTF8.self)
            )
        case .text: print(try reports.map(Self.text).joined(separator: "\n"))
        }
        if reports.contains(where: { $0["usable"] == false }) { throw ExitCode.failure }
    }

    private func read() throws -> Connection {
        let text: String
        do throws(HostCommandError) { text = try ConfigurationFile.text(connection) } catch {
            throw HostCommandError("\(connection): cannot be read: \(error).")
        }
        do throws(ConfigurationErrors) { return try Connection(text, file: connection) } catch {
            throw HostCommandError(error.description)
        }
    }

    private static func text(_ report: WireDictionary) throws -> String {
        let place = report["address"]?.stringValue ?? report["file"]?.stringValue ?? ""
        let name = report["entity"]?.stringValue ?? ""
        if let failure = report["failure"]?.stringValue { return "\(name): \(place): \(failure.printable)" }
        let further = report["further"] == true ? ", and a further page" : ""
        var lines = ["\(name): \(report["fetched"]?.int64Value ?? 0) rows at \(place.printable)\(further)"]
        for row in report["rows"]?.arrayValue ?? [] {
            lines.append("  " + String(decoding: try JSONFormat().write(row), as: UTF8.self).printable)
        }
        let deleted = report["deleted"]?.int64Value ?? 0
        if deleted > 0 { lines.append("  deleted: \(deleted) rows") }
        let problems = report["problems"]?.arrayValue ?? []
        let warnings = (report["warnings"]?.arrayValue ?? []).compactMap(\.stringValue)
        if problems.isEmpty, warnings.isEmpty {
            lines.append(report["fetched"] == 0 ? "  there are no rows" : "  everything fits")
        }
        if !problems.isEmpty { lines.append("  what does not fit:") }
        for problem in problems { lines.append("    " + Self.line(problem).printable) }
        for warning in warnings { lines.append("  " + warning.printable) }
        let unused = (report["unused"]?.arrayValue ?? []).compactMap(\.stringValue)
        if !unused.isEmpty { lines.append("  not used: \(unused.joined(separator: ", ").printable)") }
        return lines.joined(separator: "\n")
    }

    private static func line(_ problem: WireValue) -> String {
        let key = problem["key"].flatMap { $0.stringValue ?? $0.int64Value.map { String($0) } }
        let row = "row \(problem["row"]?.int64Value ?? 0)" + (key.map { " (\($0.prefix(40)))" } ?? "")
        let count = problem["count"]?.int64Value ?? 1
        return "\(row)\(count > 1 ? " and \(count - 1) more" : ""): \(problem["reason"]?.stringValue ?? "")"
    }
}

/// How a trial is shown.
enum TrialOutput: String, ExpressibleByArgument, CaseIterable {
    case text
    case json
}

extension String {
    /// What others wrote moves nothing on the terminal.
    fileprivate var printable: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0.properties.generalCategory.isShown ? $0 : "?" }))
    }
}

extension Unicode.GeneralCategory {
    fileprivate var isShown: Bool {
        switch self {
        case .control, .format, .surrogate, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}
