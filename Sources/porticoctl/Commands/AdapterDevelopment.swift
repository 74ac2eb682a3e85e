import AdapterKit
import ArgumentParser
import Foundation

extension AdapterCommands {
    /// Runs what an adapter's author has to see succeed.
    struct Test: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Runs a package's tests, then tries its gateway.yaml.",
            discussion: """
                The tests of a package that `adapter new` wrote check conformance, and a mirror's with answers that lie. \
                `portico check` loads the adapter as a gateway does, and reads its declaration.
                """)

        @Argument(help: "The adapter's folder.") var folder = "."

        func run() throws {
            let package = SwiftPackage(folder: URL(fileURLWithPath: folder, isDirectory: true))
            try Tool.run(["swift", "test", "--package-path", package.folder.path])
            let configuration = package.folder.appendingPathComponent("gateway.yaml").path
            guard FileManager.default.fileExists(atPath: configuration) else { return }
            try Tool.run(["swift", "build", "--package-path", package.folder.path])
            try Tool.run([Tool.portico, "check", "--config", configuration])
        }
    }
}

/// Programs that commands run.
enum Tool {
    /// `portico`, which stands beside this program.
    static var portico: String {
        URL(fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent().appendingPathComponent("portico").path
    }

    /// Runs a program to its end. What it says goes to standard error. Throws where it fails.
    static func run(_ command: [String]) throws {
        _ = try finished(command, [:], FileHandle.standardError)
    }

    /// Runs a program to its end and returns its standard output. Throws where it fails.
    static func output(_ command: [String], environment: [String: String] = [:]) throws -> String {
        let output = Pipe()
        let text = try finished(command, environment, output) {
            output.fileHandleForReading.readDataToEndOfFile()
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func finished(
        _ command: [String], _ environment: [String: String], _ output: Any, reading read: () -> Data = { Data() }
    ) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = output
        do {
            try process.run()
        } catch {
            throw CommandError("\(command[0]) cannot be run: \(error.localizedDescription)")
        }
        let data = read()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw CommandError("\(command.prefix(2).joined(separator: " ")) ended with \(process.terminationStatus).")
        }
        return data
    }
}
