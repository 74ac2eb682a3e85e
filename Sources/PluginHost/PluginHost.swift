import AdapterKit

/// Finds out whether a file is a plugin for this host, and loads it into this process.
///
/// What it promises: no code of a file runs unless the file's stamp equals the host's. What it does not: the stamp
/// prevents mistakes, it is no signature. A plugin in this process may do whatever the process may.
public struct PluginHost: Sendable {
    private let stamp = PluginStamp.ofHost

    public init() {}

    /// Checks the file without running any of its code.
    @discardableResult
    public func check(_ path: String) throws(PluginError) -> PluginStamp {
        try check(PluginFile(path))
    }

    /// Loads one plugin. Blocks on the file system, so call it while starting, before serving.
    public func load(_ path: String) throws(PluginError) -> Plugin {
        let file = try PluginFile(path)
        let found = try check(file)
        let library = try LoadedLibrary(file.path)
        guard try library.stamp() == found else { throw PluginError(file.path, .replacedWhileLoading) }
        return Plugin(path: file.path, stamp: found, module: try library.module())
    }

    /// Loads several, whose adapters must differ in name from each other and from those that are there already.
    ///
    /// All files are checked before the first is loaded, so a bad one among them runs nothing.
    public func load(_ paths: [String], besides taken: Set<AdapterName>) throws(PluginError) -> [Plugin] {
        for path in paths { try check(path) }
        var plugins: [Plugin] = []
        for path in paths {
            let plugin = try load(path)
            try refuseCollisions(of: plugin, with: plugins, taken)
            plugins.append(plugin)
        }
        return plugins
    }

    private func check(_ file: borrowing PluginFile) throws(PluginError) -> PluginStamp {
        let found = try file.stamp()
        if let mismatch = found.mismatch(with: stamp) { throw PluginError(file.path, mismatch) }
        return found
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
