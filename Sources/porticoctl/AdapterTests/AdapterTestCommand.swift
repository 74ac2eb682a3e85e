import ArgumentParser
import Foundation
import ValueTree

extension AdapterCommands {
    /// Runs what an adapter's author has to see succeed.
    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Runs a package's tests, then tries its program in a gateway of its own.",
            discussion: """
                First the package's own tests: `swift test`, or `python3 -m unittest` where there is no Package.swift but \
                a test_*.py, or what --tests names. Then `portico check`. Then a gateway starts with the package's \
                gateway.yaml, on a free port of 127.0.0.1 and with an empty data directory that is removed afterwards. \
                It runs the program with the sandbox and the limits that gateway.yaml gives it.

                Conformance: every entity is listed and read in every wire format. Every operation that needs no input, \
                and every call of fixtures/calls.json, is answered in the declared shape or with an error of the \
                registry. Every mirror is refreshed, or says why not.

                Fixtures: fixtures/calls.json has [{"operation", "input"?, "status"?, "answer"?}], or \
                {"method", "path", …} for other paths; an answer must have the members that "answer" has. \
                fixtures/upstreams/NAME has recorded answers of an upstream, which is not called then; --record NAME writes them.

                Faults: the program is killed, stopped, and delayed in its start while calls go on. The gateway must \
                stay up, the program must serve again --within these seconds, and meanwhile calls are answered as ever, or \
                with 503 or 504. Where the package has upstreams, a second gateway gives the program false, broken and late \
                answers of them.
                """)

        @Argument(help: "The adapter's folder.") var folder = "."
        @Option(help: "A shell command that runs the package's own tests, in its folder.") var tests: String?
        @Option(name: .customLong("config"), help: "The gateway's configuration; from the adapter's folder on.")
        var configurationFile = "gateway.yaml"
        @Option(help: "A role of the account that calls; may be given several times.") var role = ["member"]
        @Option(help: "Seconds within which the program must serve again after a fault.") var within = 10
        @Option(help: "An upstream whose answers are recorded below fixtures; may be given several times.")
        var record: [String] = []
        @OptionGroup var shown: OutputOptions

        func run() async throws {
            guard (1...3_600).contains(within) else { throw CommandError("--within is 1 to 3600.", exitStatus: 2) }
            let package = SwiftPackage(folder: URL(fileURLWithPath: folder, isDirectory: true))
            var report = CheckReport(style: shown.output)
            do {
                try await run(package, &report)
            } catch let error as CommandError {
                try report.end()
                throw error
            }
            try report.end()
            let failures = report.failures
            guard failures.isEmpty else {
                throw CommandError(
                    "\(failures.count) of \(report.checks.count) checks failed: "
                        + failures.map(\.name).joined(separator: "; "))
            }
        }

        private func run(_ package: SwiftPackage, _ report: inout CheckReport) async throws {
            let isSwift = has("Package.swift", package)
            if let command = try testCommand(isSwift, package) {
                try Tool.run(command.words, in: command.folder)
                report.notePassed("tests: \(command.words.joined(separator: " "))")
            }
            let configuration = package.folder.appendingPathComponent(configurationFile).path
            guard FileManager.default.fileExists(atPath: configuration) else {
                guard !report.checks.isEmpty else {
                    throw CommandError(
                        "\(package.folder.path) has neither tests nor \(configurationFile): it is no adapter's package.",
                        exitStatus: 2)
                }
                return report.progress("\(configuration) is not there: the program was not tried.")
            }
            if isSwift { try Tool.run(["swift", "build", "--package-path", package.folder.path]) }
            try Tool.run([Tool.portico, "check", "--config", configuration])
            report.notePassed("portico check")
            let trial = AdapterTrial(
                configuration: configuration, fixtures: try AdapterFixtures(package.folder, recording: Set(record)),
                roles: role, recovery: .seconds(within))
            try await trial.run(&report)
        }

        private func has(_ file: String, _ package: SwiftPackage) -> Bool {
            FileManager.default.fileExists(atPath: package.folder.appendingPathComponent(file).path)
        }

        private func testCommand(
            _ isSwift: Bool, _ package: SwiftPackage
        ) throws -> (words: [String], folder: URL?)? {
            if let tests { return (["sh", "-c", tests], package.folder) }
            if isSwift { return (["swift", "test", "--package-path", package.folder.path], nil) }
            guard let files = try? FileManager.default.contentsOfDirectory(atPath: package.folder.path) else {
                throw CommandError("\(package.folder.path) cannot be read.")
            }
            let hasTests = files.contains { $0.hasPrefix("test_") && $0.hasSuffix(".py") }
            return hasTests ? (["python3", "-B", "-m", "unittest", "discover"], package.folder) : nil
        }
    }
}

/// What was checked, in this order: a line each on standard output, or JSON at the end.
struct CheckReport {
    struct Check {
        let name: String
        /// Nil: it has passed, or was skipped.
        var problem: String?
        /// What is worth knowing of one that has passed, or why it was skipped.
        var note: String?
        var isSkipped = false
    }

    let style: OutputStyle
    private(set) var checks: [Check] = []

    init(style: OutputStyle) { self.style = style }

    var failures: [Check] { checks.filter { $0.problem != nil } }

    mutating func notePassed(_ name: String, _ note: String? = nil) { add(Check(name: name, note: note)) }

    mutating func noteSkipped(_ name: String, _ reason: String) {
        add(Check(name: name, note: reason, isSkipped: true))
    }

    /// `problem`: nil where it has passed.
    mutating func check(_ name: String, _ problem: String?) { add(Check(name: name, problem: problem)) }

    private mutating func add(_ check: Check) {
        checks.append(check)
        guard style == .text else { return }
        let detail = (check.problem ?? check.note).map { ": \($0)" } ?? ""
        let word = check.problem != nil ? "FAILED" : check.isSkipped ? "skipped" : "passed"
        print("\(word.padding(toLength: 7, withPad: " ", startingAt: 0)) \(check.name)\(detail)".visible)
    }

    func progress(_ text: String) {
        FileHandle.standardError.write(Data("adapter test: \(text.visible)\n".utf8))
    }

    func end() throws {
        guard style == .json else { return }
        let values = checks.map { check -> WireValue in
            var members: WireDictionary = ["name": .string(check.name), "passed": .bool(check.problem == nil)]
            if check.isSkipped { members["skipped"] = true }
            if let detail = check.problem ?? check.note { members["detail"] = .string(detail) }
            return .dictionary(members)
        }
        try Printer(style: style).show(["checks": .array(values)])
    }
}
