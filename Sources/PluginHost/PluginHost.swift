import AdapterKit

/// Finds out whether a file is a plugin for this host, and loads it into this process.
///
/// What it promises: no code of a file runs unless the file's stamp equals the host's, and the file that is loaded is
/// the one that was checked: it is opened once. What it does not: the stamp prevents mistakes, it is no signature. A
/// plugin in this process may do whatever the process may.
public struct PluginHost: Sendable {
    private let stamp = PluginStamp.ofHost

    public init() {}

    /// Opens and checks the file without running any of its code.
    @discardableResult
    public func check(_ path: String) throws(PluginError) -> CheckedPlugin {
        let file = try PluginFile(path)
        let found = try file.stamp()
        if let mismatch = found.mismatch(with: stamp) { throw PluginError(file.path, mismatch) }
        return CheckedPlugin(file: file, stamp: found)
    }

    /// Checks that a file is a program which may be started: regular, executable, and not writable by every user. Returns its
    /// path, absolute and free of symbolic links.
    public func checkProgram(_ path: String) throws(PluginError) -> String {
        let file = try PluginFile(path)
        guard file.isExecutable else { throw PluginError(file.path, .notExecutable) }
        return file.path
    }

    /// Loads one plugin. Blocks on the file system, so call it while starting, before serving.
    public func load(_ path: String) throws(PluginError) -> Plugin {
        try check(path).load()
    }

    /// Loads several, whose adapters must differ in name from each other and from those that are there already.
    ///
    /// All files are checked before the first is loaded, so a bad one among them runs nothing.
    public func load(_ paths: [String], besides taken: Set<AdapterName>) throws(PluginError) -> [Plugin] {
        var files: [CheckedPlugin] = []
        for path in paths { files.append(try check(path)) }
        var plugins: [Plugin] = []
        for file in files {
            let plugin = try file.load()
            try refuseCollisions(of: plugin, with: plugins, taken)
            plugins.append(plugin)
        }
        return plugins
    }

    private func refuseCollisions(
        of plugin: Plugin, with others: [Plugin], _ taken: Set<AdapterName>
    ) throws(PluginError) {
        let name = plugin.module.name
        if taken.contains(name) || others.contains(where: { $0.module.name == name }) {
            throw PluginError(plugin.path, .adapterNameTaken(name.text))
        }
        // Swift names a type by its module and its own name, whichever library it stands in.
        if others.contains(where: { $0.swiftModuleName == plugin.swiftModuleName }) {
            throw PluginError(plugin.path, .swiftModuleNameTaken(plugin.swiftModuleName))
        }
    }
}

/// A plugin's file that was opened and checked. None of its code has run.
public struct CheckedPlugin: Sendable {
    public let stamp: PluginStamp
    private let file: PluginFile

    init(file: PluginFile, stamp: PluginStamp) {
        self.file = file
        self.stamp = stamp
    }

    /// Loads the file that was checked, whatever stands at its path by now.
    public func load() throws(PluginError) -> Plugin {
        let library = try LoadedLibrary(file)
        guard try library.stamp() == stamp else { throw PluginError(file.path, .replacedWhileLoading) }
        let box = try library.box()
        return Plugin(path: file.path, stamp: stamp, module: box.module, isDebugBuild: box.isDebugBuild)
    }
}

/// A plugin in this process. It stays loaded to the process's end.
public struct Plugin: Sendable {
    /// Absolute, symbolic links resolved.
    public let path: String
    public let stamp: PluginStamp
    public let module: any AdapterModule.Type
    /// Whether it was built without optimisation: it works, many times slower.
    public let isDebugBuild: Bool

    /// The Swift module that the adapter's type is declared in.
    var swiftModuleName: String {
        String(String(reflecting: module).prefix { $0 != "." })
    }
}

/// Where a plugin named in the configuration is looked for.
public struct PluginPaths: Sendable, Equatable {
    private let configurationFolder: String
    private let pluginFolder: String

    /// `program` is the absolute path of the running program, symbolic links resolved. An installed one stands in
    /// `bin/` and has `plugins/` beside that folder; one that was just built has `plugins/` beside itself.
    public init(configurationFolder: String, program: String) {
        self.configurationFolder = configurationFolder
        let folder = program[..<(program.lastIndex(of: "/") ?? program.startIndex)]
        let isInstalled = folder.hasSuffix("/bin")
        pluginFolder = "\(isInstalled ? folder.dropLast("/bin".count) : folder)/plugins"
    }

    /// A bare file name stands for a file in the plugin folder, so one configuration fits the build folder and an
    /// installed tree; a path with a slash is relative to the configuration's folder, or absolute.
    public func resolve(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        return path.contains("/") ? "\(configurationFolder)/\(path)" : "\(pluginFolder)/\(path)"
    }

    /// As ``resolve(_:)``, for a program: a bare name stands for a file in the plugin folder, or for the file of the same name
    /// in a folder there, beside which are the libraries that the program brings.
    public func resolveProgram(_ name: String) -> String {
        let path = resolve(name)
        return PluginFile.isFolder(path) ? "\(path)/\(name.split(separator: "/").last ?? "")" : path
    }
}

/// Why a plugin is not loaded. For operators: it names files and versions.
public struct PluginError: Error, Sendable, Equatable {
    public let path: String
    public let reason: Reason

    public init(_ path: String, _ reason: Reason) {
        self.path = path
        self.reason = reason
    }

    public enum Reason: Sendable, Equatable {
        // The file, as the system sees it
        case unreadable(String)
        case notARegularFile
        case notExecutable
        /// Every user may write the file, or a folder on the way to it.
        case writableByEveryone(String)

        // The file, as a library. None of its code has run.
        case empty
        case notELF
        case truncated
        case malformed(String)
        case otherPlatform(String)
        case noStamp
        case malformedStamp

        // The stamp. None of its code has run.
        case otherSDKVersion(plugin: String, host: String)
        case otherCompiler(plugin: String, host: String)
        case otherSDKSources(plugin: String, host: String)

        // Loading
        case notLoadable(String)
        case entryMissing(String)
        /// The loaded library carries another stamp than the file had: it was replaced in between.
        case replacedWhileLoading
        /// What the entry returned is no box of the AdapterKit that the host uses.
        case noModule

        // Beside the others
        case adapterNameTaken(String)
        case swiftModuleNameTaken(String)
    }
}

extension PluginError: CustomStringConvertible {
    public var description: String { "plugin \(path): \(reason)" }
}

extension PluginError.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreadable(let why): "it cannot be read: \(why)"
        case .notARegularFile: "it is not a regular file"
        case .notExecutable: "it is no program that may be executed (chmod +x)"
        case .writableByEveryone(let path): "every user may write \(path); take that permission away (chmod o-w)"
        case .empty: "the file is empty"
        case .notELF: "it is not an ELF library"
        case .truncated: "the file ends too early; was it copied completely?"
        case .malformed(let what): "it is a malformed ELF file: \(what)"
        case .otherPlatform(let what): "it was built for another platform: \(what)"
        case .noStamp: "it has no AdapterKit stamp, so it is not a Portico plugin"
        case .malformedStamp: "its AdapterKit stamp is malformed"
        case .otherSDKVersion(let plugin, let host):
            "it was built against AdapterKit \(plugin), this host has \(host); build it against \(host)"
        case .otherCompiler(let plugin, let host):
            "it was built with another compiler (\(plugin)) than this host (\(host)); build it with the host's"
        case .otherSDKSources(let plugin, let host):
            "it was built against other sources of the same AdapterKit version (\(plugin.prefix(12)), this host has "
                + "\(host.prefix(12))); build it against the host's"
        case .notLoadable(let why): "the loader refuses it: \(why)"
        case .entryMissing(let symbol): "it does not export \(symbol)"
        case .replacedWhileLoading: "the file was replaced while it was being loaded; try again"
        case .noModule: "its entry returned no adapter module of this AdapterKit; does it carry a copy of its own?"
        case .adapterNameTaken(let name): "there is already an adapter named \(name)"
        case .swiftModuleNameTaken(let name):
            "another plugin has a Swift module named \(name) too; types of the two could not be distinguished"
        }
    }
}
