import AdapterKit
import AdapterProtocol

/// Version 1 of the protocol, in which one access was for reading and writing, and `public-read` for both with a login for
/// writing. A program that speaks it says as little today, so all that it let write is given.
enum Version1 {
    /// The response to `declare` as one of today. What is no response stays as it is, and is refused as that.
    static func response(_ message: WireValue) -> WireValue {
        guard case .dictionary(var members) = message, let declared = members["declaration"] else { return message }
        members["declaration"] = declaration(declared)
        return .dictionary(members)
    }

    static func declaration(_ message: WireValue) -> WireValue {
        guard case .dictionary(var members) = message else { return message }
        let access = members["access"].flatMap { $0.isNull ? nil : $0 } ?? "login"
        members["access"] = rights(access, refreshes: true)
        members["entities"] = members["entities"].map { each($0) { entity($0) } }
        members["operations"] = members["operations"].map { each($0) { operation($0) } }
        members["mounts"] = members["mounts"].map { each($0) { mount($0) } }
        return .dictionary(members)
    }

    /// The configuration as such a program reads it: an access says who reads, and one who may write what is public writes.
    static func configuration(
        _ configuration: AdapterConfiguration, _ options: [ConfigurationOption]
    ) -> AdapterConfiguration {
        var values = configuration.values
        let paths = options.filter { $0.valueKind == .access }.map(\.path) + ["access"]
        for path in paths { values = replaced(values, at: path.split(separator: ".").map(String.init)[...]) }
        return AdapterConfiguration(
            values, directory: configuration.directory, upstreamsOfCallers: configuration.upstreamsOfCallers)
    }

    private static func each(_ list: WireValue, _ change: (WireDictionary) -> WireDictionary) -> WireValue {
        guard case .array(let items) = list else { return list }
        return .array(items.map { if case .dictionary(let members) = $0 { .dictionary(change(members)) } else { $0 } })
    }

    private static func entity(_ members: WireDictionary) -> WireDictionary {
        var members = members
        members["readers"] = members["readers"].map { access($0, .reads) }
        members["writers"] = members["writers"].map { access($0, .writes) }
        return members
    }

    private static func operation(_ members: WireDictionary) -> WireDictionary {
        var members = members
        members["access"] = members["access"].map { access($0, members["effect"] == "reads" ? .reads : .writes) }
        return members
    }

    private static func mount(_ members: WireDictionary) -> WireDictionary {
        var members = members
        members["access"] = members["access"].map { $0.isNull ? $0 : rights($0, refreshes: false) }
        return members
    }

    private static func rights(_ message: WireValue, refreshes: Bool) -> WireValue {
        let (read, write) = (access(message, .reads), access(message, .writes))
        return refreshes ? ["read": read, "write": write, "refresh": write] : ["read": read, "write": write]
    }

    private static func access(_ message: WireValue, _ effect: Effect) -> WireValue {
        switch message {
        case .string("public-read"): effect == .reads ? "public" : "login"
        case .dictionary(let members) where members["roles"] == .array([]): "none"
        default: message
        }
    }

    private static func replaced(_ values: WireDictionary, at path: ArraySlice<String>) -> WireDictionary {
        guard let name = path.first else { return values }
        let rest = path.dropFirst()
        var values = values
        for member in values where name == "*" || name == member.key {
            if rest.isEmpty {
                values[member.key] = earlier(member.value)
            } else if case .dictionary(let below) = member.value {
                values[member.key] = .dictionary(replaced(below, at: rest))
            }
        }
        return values
    }

    private static func earlier(_ value: WireValue) -> WireValue {
        guard let rights = AccessRights(configurationValue: value) else { return value }
        guard rights.reading == .public else { return rights.reading.configurationValue }
        return rights.write == .public ? "public" : "public-read"
    }
}
