import ArgumentParser
import ValueTree

struct Roles: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Gives and takes the roles of accounts.", subcommands: [List.self, Grant.self, Revoke.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the roles and who has them.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            let value = try await options.withConnection { try await $0.get("/admin/v1/accounts") }
            try Printer(style: options.output).show(
                ["roles": .array(Self.roles(value["accounts"]?.arrayValue ?? []))], columns: ["role", "accounts"],
                list: "roles")
        }

        private static func roles(_ accounts: [WireValue]) -> [WireValue] {
            var holders: [String: [WireValue]] = [:]
            for account in accounts {
                for role in account["roles"]?.arrayValue?.compactMap(\.stringValue) ?? [] {
                    holders[role, default: []].append(account["name"] ?? .null)
                }
            }
            return holders.sorted { $0.key < $1.key }.map { ["role": .string($0.key), "accounts": .array($0.value)] }
        }
    }

    struct Grant: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Gives an account roles, from the next call on.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var roles: NamedRoles

        func run() async throws { try await roles.change("grant", options) }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Takes roles from an account, from the next call on.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var roles: NamedRoles

        func run() async throws { try await roles.change("revoke", options) }
    }
}

struct NamedRoles: ParsableArguments {
    @Argument(help: "The account's name.") var name: String
    @Argument(help: "The roles.") var roles: [String]

    func change(_ action: String, _ options: ConnectionOptions) async throws {
        try await options.change(name, "roles/\(action)", ["roles": .array(roles.map(WireValue.string))])
        try Printer(style: options.output).done("The roles of \(name) are changed.")
    }
}
