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
}
