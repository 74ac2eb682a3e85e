import ArgumentParser
import CommandLineSupport
import ValueTree

struct Accounts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Administers accounts.",
        subcommands: [List.self, Add.self, Disable.self, Enable.self, Delete.self, Password.self, SetRoles.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the accounts.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            try await options.show(
                "/admin/v1/accounts", columns: ["name", "displayName", "roles", "state"], list: "accounts")
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Adds an account; its password comes from standard input.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The account's name.") var name: String
        @Option(help: "The name that people see.") var displayName: String?
        @Option(help: "A role; may be given several times.") var role: [String] = []
        @OptionGroup var new: NewRoleOption
        @Flag(help: "For a program: it signs in with API keys only.") var withoutPassword = false

        func run() async throws {
            var account: WireDictionary = ["name": .string(name)]
            for member in new.input(role) { account[member.key] = member.value }
            if !withoutPassword { account["password"] = .string(try PasswordPrompt.password(isNew: true)) }
            if let displayName { account["displayName"] = .string(displayName) }
            let added = try await options.withConnection {
                try await $0.post("/admin/v1/accounts", .dictionary(account))
            }
            try Printer(style: options.output).show(added)
        }
    }

    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Disables an account and signs it out everywhere.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The account's name.") var name: String

        func run() async throws {
            try await options.change(name, "disable")
            try Printer(style: options.output).reportDone("\(name) is disabled.")
        }
    }

    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Enables an account.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The account's name.") var name: String

        func run() async throws {
            try await options.change(name, "enable")
            try Printer(style: options.output).reportDone("\(name) is enabled.")
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Deletes an account, its sign-ins, keys and devices, and the rows that are its alone.",
            discussion: """
                Rows that other accounts reach too stay, and so does the audit log: both keep the name, which no other \
                account gets. To keep the rows, disable the account instead.
                """)

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var confirmation: Confirmation
        @Flag(help: "Only counts what would go.") var dryRun = false
        @Argument(help: "The account's name.") var name: String

        func run() async throws {
            let path = "/admin/v1/accounts/\(name.asPathSegment)"
            let value = try await options.withConnection { connection in
                let preview = try await connection.get("\(path)/deletion")
                guard !dryRun else { return preview }
                let words = Self.words(preview, willBe: true).split(separator: "\n").joined(separator: " ")
                try confirmation.ask("\(words) Delete \(name)?")
                return try await connection.post("\(path)/delete", [:])
            }
            try Printer(style: options.output).show(value) { Self.words(value, willBe: dryRun) }
        }

        static func words(_ value: WireValue, willBe: Bool) -> String {
            func number(_ value: WireValue, _ name: String) -> Int64 { value[name]?.int64Value ?? 0 }
            let name = (value["name"]?.stringValue ?? "").visible
            var lines = [
                "\(name) \(willBe ? "would be" : "is") deleted, with "
                    + "\(Figures.count(number(value, "sessions"), "sign-in")), "
                    + "\(Figures.count(number(value, "keys"), "API key")) and "
                    + "\(Figures.count(number(value, "devices"), "device"))."
            ]
            for rows in value["rows"]?.arrayValue ?? [] {
                let kept = number(rows, "kept")
                lines.append(
                    "\((rows["collection"]?.stringValue ?? "").visible): \(Figures.count(number(rows, "deleted"), "row")) "
                        + "\(willBe ? "to delete" : "deleted")"
                        + (kept > 0
                            ? "; \(Figures.count(kept)) that others reach too \(kept == 1 ? "stays" : "stay")." : "."))
            }
            return lines.joined(separator: "\n")
        }
    }

    struct Password: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sets a password from standard input and signs the account out everywhere.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The account's name.") var name: String

        func run() async throws {
            try await options.change(name, "password", ["password": .string(try PasswordPrompt.password(isNew: true))])
            try Printer(style: options.output).reportDone("The password of \(name) is set.")
        }
    }

    struct SetRoles: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "roles", abstract: "Lists an account's roles, or sets them to the ones that are named.",
            discussion: "roles revoke NAME ROLE takes one away.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var new: NewRoleOption
        @Argument(help: "The account's name.") var name: String
        @Argument(help: "The roles it has from now on; none: they are listed.") var roles: [String] = []

        func run() async throws {
            guard !roles.isEmpty else {
                let account = try await options.withConnection {
                    try await $0.get("/admin/v1/accounts/\(name.asPathSegment)")
                }
                return try Printer(style: options.output).show([
                    "name": account["name"] ?? .null, "roles": account["roles"] ?? [],
                ])
            }
            try await options.change(name, "roles", .dictionary(new.input(roles)))
            try Printer(style: options.output).reportDone("The roles of \(name) are set.")
        }
    }
}

extension ConnectionOptions {
    func change(_ name: String, _ action: String, _ input: WireValue? = nil) async throws {
        _ = try await withConnection { connection in
            try await connection.post("/admin/v1/accounts/\(name.asPathSegment)/\(action)", input)
        }
    }
}

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
        @OptionGroup var roles: RoleArguments
        @OptionGroup var new: NewRoleOption

        func run() async throws { try await roles.change("grant", new.input(roles.roles), options) }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Takes roles from an account, from the next call on.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var roles: RoleArguments

        func run() async throws {
            try await roles.change("revoke", ["roles": .array(roles.roles.map(WireValue.string))], options)
        }
    }
}

struct RoleArguments: ParsableArguments {
    @Argument(help: "The account's name.") var name: String
    @Argument(help: "The roles.") var roles: [String]

    func change(_ action: String, _ input: WireDictionary, _ options: ConnectionOptions) async throws {
        try await options.change(name, "roles/\(action)", .dictionary(input))
        try Printer(style: options.output).reportDone("The roles of \(name) are changed.")
    }
}

/// Whether roles may be ones that nothing names yet.
struct NewRoleOption: ParsableArguments {
    @Flag(name: .customLong("new-role"), help: "Takes roles that neither the configuration nor an adapter names yet.")
    var isNew = false

    func input(_ roles: [String]) -> WireDictionary {
        var input: WireDictionary = ["roles": .array(roles.map(WireValue.string))]
        if isNew { input["newRole"] = true }
        return input
    }
}
