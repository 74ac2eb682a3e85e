import ValueTree

/// Who is signed in.
public struct Account: Sendable, Equatable {
    public let id: String
    public let name: String
    public let roles: [String]

    public init(id: String, name: String, roles: [String]) {
        self.id = id
        self.name = name
        self.roles = roles
    }

    init?(_ value: WireValue?) {
        guard let value, let id = value["id"]?.stringValue, let name = value["name"]?.stringValue else { return nil }
        self.init(id: id, name: name, roles: (value["roles"]?.arrayValue ?? []).compactMap(\.stringValue))
    }

    var wireValue: WireValue {
        ["id": .string(id), "name": .string(name), "roles": .array(roles.map(WireValue.string))]
    }
}
