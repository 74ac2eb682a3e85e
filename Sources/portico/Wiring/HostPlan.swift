import AdapterKit
import Chat
import EmployeeSearch
import Foundation
import HostConfiguration
import Identity
import ODataAdapter
import ODataReference
import PlistFeeds
import PluginHost
import ValueTree
import XMLUsers

/// A configuration that was checked as far as that is possible without serving: every key known, every value of its
/// kind, every adapter and its declaration made.
struct HostPlan {
    struct PlannedAdapter {
        let adapter: any Adapter
        let declaration: AdapterDeclaration
        /// As configured; nil: the declaration's.
        let access: Access?
        /// The portal that it calls in its callers' names.
        let portal: ProviderName?
    }

    let settings: HostSettings
    let adapters: [PlannedAdapter]
    /// Paths of the plugin libraries that were loaded.
    let plugins: [String]
    /// What works and is probably not what was meant.
    let warnings: [String]

    /// Throws ``ConfigurationErrors`` and ``CommandError``.
    init(
        _ root: ConfigurationNode, environment: [String: String], overrides: [String], directory: String, data: String
    ) throws {
        let secrets = SecretSource(environment: environment) { try String(contentsOfFile: $0, encoding: .utf8) }
        let pluginPlan = try PluginPlan(root, overrides: overrides, directory: directory, secrets: secrets)
        let loaded = try pluginPlan.plugins()
        plugins = pluginPlan.paths
        let modules = AdapterCatalogue.builtIn + loaded.map(\.module)
        let resolved = try ResolvedConfiguration.resolve(
            root, reference: HostReference.reference(for: modules), environment: environment, overrides: overrides,
            secrets: secrets
        ).get()
        warnings =
            resolved.warnings.map(\.description)
            + loaded.filter { $0.isDebugBuild && !_isDebugAssertConfiguration() }.map {
                "plugin \($0.path): it was built for debugging and is slow; build it with -c release"
            }
        try SettingChecks(resolved).check()
        settings = try HostSettings(resolved, data: data)
        adapters = try modules.compactMap { try Self.plan($0, resolved, directory: directory) }
    }

    private static func plan(
        _ module: any AdapterModule.Type, _ resolved: ResolvedConfiguration, directory: String
    ) throws -> PlannedAdapter? {
        let path = "adapters.\(module.name)"
        guard resolved["\(path).enabled"]?.flag ?? true else { return nil }
        let configuration = AdapterConfiguration(options(of: module, resolved), directory: directory)
        do {
            return PlannedAdapter(
                adapter: try module.make(configuration), declaration: try module.declare(configuration),
                access: resolved["\(path).access"]?.access, portal: try portal("\(path).portal", resolved))
        } catch let problem as ConfigurationProblem {
            let name = "\(path).\(problem.path)"
            throw ConfigurationErrors([
                ConfigurationError(problem.message, at: resolved.location(of: name) ?? .commandLine(name))
            ])
        } catch let errors as ConfigurationErrors {
            throw errors
        } catch {
            throw CommandError(
                "The adapter \(module.name) cannot be made: \(FileFailure.sentence(error) ?? "\(error)")")
        }
    }

    private static func portal(_ key: String, _ resolved: ResolvedConfiguration) throws -> ProviderName? {
        guard let text = resolved[key]?.text else { return nil }
        guard let name = ProviderName(text), resolved["identity.providers.\(name).kind"]?.text == "portal" else {
            throw ConfigurationErrors([
                ConfigurationError(
                    "identity.providers has no portal of this name.",
                    at: resolved.location(of: key) ?? .commandLine(key))
            ])
        }
        return name
    }

    /// The adapter's own options as nested dictionaries.
    private static func options(
        of module: any AdapterModule.Type, _ resolved: ResolvedConfiguration
    ) -> WireDictionary {
        var options = WireDictionary()
        let path = "adapters.\(module.name)"
        for (names, value) in resolved.settings(below: path) where names != ["enabled"] && names != ["portal"] {
            options.set(value.wireValue, at: names[...])
        }
        for option in module.options { option.addDefault(to: &options) }
        return options
    }
}

extension WireDictionary {
    fileprivate mutating func set(_ value: WireValue, at path: ArraySlice<String>) {
        guard let name = path.first else { return }
        guard path.count > 1 else {
            self[name] = value
            return
        }
        var inner = self[name]?.dictionaryValue ?? [:]
        inner.set(value, at: path.dropFirst())
        self[name] = .dictionary(inner)
    }
}

extension ConfigurationValue {
    /// As an adapter reads it: durations in seconds, an access as it is written.
    var wireValue: WireValue {
        switch self {
        case .text(let text): .string(text)
        case .integer(let number), .size(let number): .int64(Int64(number))
        case .flag(let flag): .bool(flag)
        case .duration(let duration): .double(duration / .seconds(1))
        case .access(let access): access.configurationValue
        case .secret(let secret): .string(secret.reveal())
        case .list(let items): .array(items.map(\.wireValue))
        case .mapping(let members):
            .dictionary(
                WireDictionary(
                    uncheckedUniqueKeys: members.sorted { $0.key < $1.key }.map {
                        .init(key: $0.key, value: $0.value.wireValue)
                    }))
        }
    }
}

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
            throw CommandError(error.description)
        }
    }

    /// The running program, symbolic links resolved.
    private static var program: String {
        URL(fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0]).resolvingSymlinksInPath().path
    }

    private static func onlyPlugins(_ root: ConfigurationNode) -> ConfigurationNode {
        guard case .mapping(let entries) = root.content else { return root }
        return ConfigurationNode(.mapping(entries.filter { $0.key == "plugins" }), at: root.location)
    }
}

extension ConfigurationOption {
    /// How the option is written in the configuration.
    var kind: ConfigurationKind {
        switch valueKind {
        case .access: .access
        case .secret: .secret(allowsPlain: false)
        case .textLists: .list(of: .oneOrMore(.text))
        case .value(let shape): Self.kind(of: shape)
        }
    }

    private static func kind(of shape: Shape) -> ConfigurationKind {
        switch shape {
        case .bool: .flag
        case .integer(let range): .integer(Int(range.range.lowerBound)...Int(range.range.upperBound))
        case .choice(let choices): .choice(choices)
        case .list(let item): .list(of: kind(of: item))
        default: .text
        }
    }

    /// The default as one would write it; nil where there is none, or none that fits on a line.
    var defaultText: String? { defaultValue.flatMap(Self.text) }

    private static func text(_ value: WireValue) -> String? {
        switch value {
        case .bool(let flag): return flag ? "true" : "false"
        case .int64(let number): return String(number)
        case .string(let text): return text
        case .array(let items):
            let texts = items.compactMap { text($0) }
            return texts.count == items.count ? "[\(texts.joined(separator: ", "))]" : nil
        default: return nil
        }
    }

    /// Puts the default where nothing is configured; below a `*`, for each name that is there.
    func addDefault(to options: inout WireDictionary) {
        guard let defaultValue else { return }
        Self.add(defaultValue, at: path.split(separator: ".").map(String.init)[...], to: &options)
    }

    private static func add(_ value: WireValue, at path: ArraySlice<String>, to options: inout WireDictionary) {
        guard let name = path.first else { return }
        let rest = path.dropFirst()
        if name == "*" {
            for member in options where !rest.isEmpty {
                guard var below = member.value.dictionaryValue else { continue }
                add(value, at: rest, to: &below)
                options[member.key] = .dictionary(below)
            }
        } else if rest.isEmpty {
            if options[name] == nil { options[name] = value }
        } else {
            var below = options[name]?.dictionaryValue ?? [:]
            add(value, at: rest, to: &below)
            if !below.isEmpty { options[name] = .dictionary(below) }
        }
    }
}

/// The adapters that come with the host, one line each.
enum AdapterCatalogue {
    static let builtIn: [any AdapterModule.Type] = [
        PlistFeedsModule.self,
        EmployeeSearchModule.self,
        XMLUsersModule.self,
        ChatModule.self,
        ODataModule.self,
        ODataReferenceModule.self,
    ]
}
