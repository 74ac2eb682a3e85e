import AdapterKit

/// Users as the XML contract serves them (docs/adapters/users.md), and as an entity for everything newer.
public enum XMLUsersModule: AdapterModule {
    public static let name: AdapterName = "users"

    public static func declare(_ configuration: AdapterConfiguration) -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: "Users", summary: "People with their shoe sizes, for clients that read XML.",
            version: "2.0", entities: [Users.entity], operations: UserOperations.all)
    }

    public static func make(_ configuration: AdapterConfiguration) -> any Adapter {
        XMLUsersAdapter()
    }
}
