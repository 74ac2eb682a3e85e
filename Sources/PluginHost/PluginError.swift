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
        /// Everybody may write the file, or a folder on the way to it.
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
        case .writableByEveryone(let path): "everybody may write \(path); take that permission away (chmod o-w)"
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
            "another plugin has a Swift module named \(name) too; types of the two could not be told apart"
        }
    }
}
