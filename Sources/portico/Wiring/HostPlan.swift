import AdapterKit
import Foundation
import HostConfiguration
import Identity
import PluginHost
import ValueTree

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

    /// Throws ``ConfigurationErrors`` and ``Refusal``.
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
                ConfigurationError(problem.message, at: resolved.place(of: name) ?? .commandLine(name))
            ])
        } catch let errors as ConfigurationErrors {
            throw errors
        } catch {
            throw Refusal("The adapter \(module.name) cannot be made: \(FileFailure.sentence(error) ?? "\(error)")")
        }
    }

    private static func portal(_ key: String, _ resolved: ResolvedConfiguration) throws -> ProviderName? {
        guard let text = resolved[key]?.text else { return nil }
        guard let name = ProviderName(text), resolved["identity.providers.\(name).kind"]?.text == "portal" else {
            throw ConfigurationErrors([
                ConfigurationError(
                    "identity.providers has no portal of this name.", at: resolved.place(of: key) ?? .commandLine(key))
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
