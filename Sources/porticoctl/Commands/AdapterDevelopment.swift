import AdapterKit
import ArgumentParser
import Foundation

extension AdapterCommands {
    /// Builds and restarts an adapter whenever one of its files is saved.
    struct Dev: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Builds an adapter on each save, restarts it in a running gateway, and shows its log.",
            discussion: """
                The gateway runs the adapter as a worker, from the file that `swift build` writes, as the gateway.yaml of \
                `adapter new` has it. In another terminal: portico serve --config gateway.yaml --data .portico. A build \
                that fails changes nothing: the adapter serves on as it was. Ends with Ctrl-C.
                """)

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The adapter's folder.") var folder = "."
        @Option(help: "The adapter's name; the package's where it is left out.") var name: String?

        /// Between two looks at the files.
        private static let pause = Duration.milliseconds(300)

        func run() async throws {
            let package = SwiftPackage(folder: URL(fileURLWithPath: folder, isDirectory: true))
            let name = try name ?? package.name()
            var log = try Logs.Search.parse(["--follow", "--adapter", name])
            log.options = options
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { [log] in try await log.run() }
                tasks.addTask { try await reload(name, package) }
                defer { tasks.cancelAll() }
                try await tasks.next()
            }
        }

        private func reload(_ name: String, _ package: SwiftPackage) async throws {
            var built: [String: SourceStamp]?
            while true {
                let files = SourceStamp.all(below: package.folder)
                if files != built {
                    built = files
                    await build(name, package)
                }
                try await Task.sleep(for: Self.pause)
            }
        }

        /// Says what goes wrong; the next save is another try.
        private func build(_ name: String, _ package: SwiftPackage) async {
            do {
                try Tool.run(["swift", "build", "--package-path", package.folder.path])
                try await options.withConnection {
                    _ = try await $0.post("/admin/v1/adapters/\(name.asPathSegment)/restart", [:])
                }
                report("\(name) was restarted")
            } catch let error as CommandError {
                report(error.message)
            } catch {
                report("\(error)")
            }
        }

        private func report(_ text: String) {
            FileHandle.standardError.write(Data("adapter dev: \(text.visibleLines)\n".utf8))
        }
    }
}

/// When a file was written, and its size: what is compared to find out whether it was saved.
struct SourceStamp: Equatable {
    let modified: Date
    let size: Int

    /// Of all files but hidden ones, by path.
    static func all(below folder: URL) -> [String: SourceStamp] {
        let keys: [URLResourceKey] = [.contentModificationDateKey, .fileSizeKey, .isRegularFileKey]
        let files = FileManager.default.enumerator(
            at: folder, includingPropertiesForKeys: keys, options: [.skipsHiddenFiles])
        var stamps: [String: SourceStamp] = [:]
        while let file = files?.nextObject() as? URL {
            guard let values = try? file.resourceValues(forKeys: Set(keys)), values.isRegularFile == true,
                let modified = values.contentModificationDate, let size = values.fileSize
            else { continue }
            stamps[file.path] = SourceStamp(modified: modified, size: size)
        }
        return stamps
    }
}

/// Programs that commands run.
enum Tool {
    /// `portico`, which stands beside this program.
    static var portico: String {
        URL(fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent().appendingPathComponent("portico").path
    }

    /// Runs a program to its end, in a folder where one is named. What it says goes to standard error. Throws where it fails.
    static func run(_ command: [String], in folder: URL? = nil) throws {
        _ = try run(command, [:], FileHandle.standardError, in: folder)
    }

    /// Runs a program to its end and returns its standard output. Throws where it fails.
    static func output(_ command: [String], environment: [String: String] = [:]) throws -> String {
        let output = Pipe()
        let text = try run(command, environment, output) {
            output.fileHandleForReading.readDataToEndOfFile()
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func run(
        _ command: [String], _ environment: [String: String], _ output: Any, in folder: URL? = nil,
        reading read: () -> Data = { Data() }
    ) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        if let folder { process.currentDirectoryURL = folder }
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
