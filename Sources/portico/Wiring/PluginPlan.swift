import AdapterKit
import Foundation
import HostConfiguration
import PluginHost

/// The adapters that a configuration can name: the built-in ones, and those of the plugins it loads. Plugins come first
/// of all, because the keys below `adapters` depend on them.
struct PluginPlan {
    let paths: [String]

    init(_ root: ConfigurationNode, overrides: [String], directory: String, secrets: SecretSource) throws {
        let reference = ConfigurationReference([HostReference.plugins])
        let resolved = try ResolvedConfiguration.resolve(
            Self.onlyPlugins(root), reference: reference, overrides: overrides.filter { $0.hasPrefix("plugins=") },
            secrets: secrets
        ).get()
        let resolver = PluginPaths(configurationFolder: directory, program: Self.program)
        paths = (resolved["plugins"]?.list ?? []).compactMap { $0["path"]?.text }.map(resolver.resolve)
    }

    func plugins() throws -> [Plugin] {
        do {
            return try PluginHost().load(paths, besides: Set(AdapterCatalogue.builtIn.map { $0.name }))
        } catch {
            throw Refusal(error.description)
        }
    }

    /// The running program, symbolic links resolved.
    private static var program: String {
        URL(fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0]).resolvingSymlinksInPath().path
    }

    private static func onlyPlugins(_ root: ConfigurationNode) -> ConfigurationNode {
        guard case .mapping(let entries) = root.content else { return root }
        return ConfigurationNode(.mapping(entries.filter { $0.key == "plugins" }), at: root.place)
    }
}
