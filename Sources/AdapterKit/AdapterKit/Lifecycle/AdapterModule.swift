/// The way from a configuration to a running adapter. A built-in one stands in the host's catalogue; a plugin hands its
/// own out through ``adapterModuleBox(_:)``.
public protocol AdapterModule: SendableMetatype {
    static var name: AdapterName { get }

    /// The keys below `adapters.{name}` that it understands, beside `enabled` and `access`.
    static var options: [ConfigurationOption] { get }

    /// Whether it calls systems behind a portal in its callers' names: then it has the key `adapters.{name}.portal`.
    static var callsPortal: Bool { get }

    /// Throws ``ConfigurationProblem`` where the configuration makes no sense. It has no effects: `portico check` calls
    /// it too.
    static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration

    static func make(_ configuration: AdapterConfiguration) throws -> any Adapter
}

extension AdapterModule {
    public static var options: [ConfigurationOption] { [] }
    public static var callsPortal: Bool { false }
}
