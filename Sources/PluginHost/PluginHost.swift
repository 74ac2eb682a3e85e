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
