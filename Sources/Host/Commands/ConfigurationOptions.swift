import AdapterKit
import ArgumentParser
import Foundation
import HostConfiguration
import RecordStorage

/// The flags that every command with a configuration takes.
struct ConfigurationOptions: ParsableArguments {
    @Option(name: .customLong("config"), help: "The configuration file (YAML). Needed; portico init writes one.")
    var namedFile: String?

    @Option(
        name: .customLong("data"),
        help: "The directory for the store and the admin socket; left out: PORTICO_DATA, else .portico.")
    var namedData: String?

    @Option(name: .customLong("set"), parsing: .upToNextOption, help: "key=value, over file and environment.")
    var overrides: [String] = []

    var file: String { namedFile ?? "" }

    var data: String { namedData ?? Self.environment("PORTICO_DATA") ?? ".portico" }

    func validate() throws {
        guard namedFile == nil else { return }
        let here = Self.usualFiles.first { FileManager.default.fileExists(atPath: $0) }
        let first =
            here.map { "There is one: --config \($0)" } ?? "portico init writes one, and makes the first administrator"
        throw ValidationError(
            "A configuration is needed: --config FILE. \(first). "
                + "To look around, --config Config/demo.yaml of the sources has sample data and accounts.")
    }

    /// Where `portico init` and the package put it.
    private static let usualFiles = [FirstConfiguration.fileName, "/etc/portico/\(FirstConfiguration.fileName)"]

    private static func environment(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Throws a message for people, with every error on a line of its own.
    ///
    /// `compiled`: the adapters of this program. `known`: the plugins of this process, where some are loaded already. `packages`:
    /// the adapters that are installed; nil: those of the data directory.
    func load(
        _ compiled: [CompiledAdapter], plugins known: HostPlan.PluginPrograms? = nil,
        packages: InstalledReleases? = nil,
        toleratesUnknown: Bool = false
    ) throws -> HostPlan {
        do {
            let text = try read(file)
            let root = try YAMLDocument.read(text, file: file)
            return try HostPlan(
                root, environment: ProcessInfo.processInfo.environment, overrides: overrides,
                directory: URL(fileURLWithPath: file).deletingLastPathComponent().path, data: data, compiled: compiled,
                plugins: known, packages: packages, toleratesUnknown: toleratesUnknown)
        } catch let errors as ConfigurationErrors {
            throw HostCommandError(errors.description)
        } catch let error as ConfigurationError {
            throw HostCommandError(error.description)
        }
    }

    /// What the configuration says of everything but adapters, which may not be complete yet.
    func planWithoutAdapters() async throws -> HostPlan {
        try await onThreadOfItsOwn {
            var root = try YAMLDocument.read(try read(file), file: file)
            if case .mapping(let entries) = root.content {
                root.content = .mapping(entries.filter { !["adapters", "plugins"].contains($0.key) })
            }
            return try HostPlan(
                root, environment: ProcessInfo.processInfo.environment, overrides: overrides,
                directory: URL(fileURLWithPath: file).deletingLastPathComponent().path, data: data, compiled: [],
                toleratesUnknown: true)
        }
    }

    private func onThreadOfItsOwn(_ load: @escaping @Sendable () throws -> HostPlan) async throws -> HostPlan {
        do {
            return try await withCheckedThrowingContinuation { continuation in
                DispatchQueue(label: "configuration").async { continuation.resume(with: Result { try load() }) }
            }
        } catch let errors as ConfigurationErrors {
            throw HostCommandError(errors.description)
        } catch let error as ConfigurationError {
            throw HostCommandError(error.description)
        }
    }

    /// As ``load(_:plugins:packages:toleratesUnknown:)``, on a thread of its own: it waits for files and for adapters' programs.
    func plan(_ compiled: [CompiledAdapter], toleratesUnknown: Bool = false) async throws -> HostPlan {
        try await onThreadOfItsOwn { try load(compiled, toleratesUnknown: toleratesUnknown) }
    }

    private func read(_ file: String) throws -> String {
        do throws(HostCommandError) { return try ConfigurationFile.text(file) } catch {
            throw HostCommandError("\(file): cannot be read: \(error).")
        }
    }
}

/// `portico check`: everything that can be validated without serving.
struct Check<Program: HostProgram>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "check", abstract: "Validates a configuration without serving.")
    }

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let plan = try await options.plan(Program.adapters)
        for warning in plan.warnings + plan.rightsWarnings {
            FileHandle.standardError.write(Data("warning: \(warning)\n".utf8))
        }
        let names = plan.unnamed.map(\.text).joined(separator: ", ")
        let unnamed =
            names.isEmpty
            ? [] : ["compiled in and not served: \(names). An adapter is served where adapters.NAME is there"]
        for remark in unnamed + plan.remarks { FileHandle.standardError.write(Data("note: \(remark)\n".utf8)) }
        try await Self.install(plan)
        let adapters = plan.adapters.map(\.declaration.name.text).joined(separator: ", ")
        print("\(options.file) is valid. Adapters: \(adapters.isEmpty ? "none" : adapters)")
    }
    /// What adapters declare, as a start does it, into an empty store that is thrown away: only a store knows what it takes.
    private static func install(_ plan: HostPlan) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "portico-check-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try HostStore.empty(in: folder)
        do {
            for adapter in plan.adapters {
                for feed in adapter.declaration.liveFeeds { try feed.check(in: adapter.declaration) }
            }
            try await store.install(plan.collections)
        } catch let error as PorticoError {
            await store.close()
            throw HostCommandError(error.message)
        }
        await store.close()
    }
}
