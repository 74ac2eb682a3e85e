import AdapterKit

/// The stored form of an account. `foldedName` is unique; `password` is a PHC string (``PasswordHash``); `attributes`
/// is a list of `{name, value}`, so that no column depends on what a company calls its attributes.
enum AccountRecord {
    static let entity = IdentityCollections.entity(
        IdentityCollections.accounts, summary: "Who may sign in.",
        fields: [
            Field("name", .string(maximumLength: AccountName.maximumLength), isRequired: true),
            Field("foldedName", .string(maximumLength: AccountName.maximumLength), isRequired: true),
            Field("displayName", .string(maximumLength: maximumDisplayName), isRequired: true),
            Field("roles", .list(of: .string(maximumLength: 64)), isRequired: true),
            Field("attributes", .list(of: .object(attribute)), isRequired: true),
            Field("state", .choice(Account.State.allCases.map(\.rawValue)), isRequired: true),
            Field("password", .string(maximumLength: 256), isNullable: true),
            Field("credentialVersion", .integer, isRequired: true),
            Field("created", .date, isRequired: true),
            Field("lastSignIn", .date, isNullable: true),
        ], indexes: [Index(["foldedName"], isUnique: true)])

    static let maximumDisplayName = 200

    private static let attribute = ObjectShape(
        "Attribute",
        members: [
            Member("name", .string(maximumLength: 64), isRequired: true),
            Member("value", .string(maximumLength: 1024), isRequired: true),
        ])

    static func read(_ record: Record) throws -> Account {
        let reader = RecordReader(record)
        return Account(
            id: try reader.id(), name: try reader.name("name"), displayName: try reader.text("displayName"),
            roles: try reader.names("roles"), attributes: try attributes(reader), state: try reader.choice("state"),
            created: try reader.date("created"), lastSignIn: try reader.optional("lastSignIn", reader.date),
            password: try reader.optional("password") { try reader.require(PasswordHash(try reader.text($0)), $0) },
            credentialVersion: try reader.integer("credentialVersion"), revision: record.revision)
    }

    static func creation(_ account: NewAccount, id: AccountID, password: PasswordHash?, at now: WireDate)
        -> RecordChange
    {
        let fields: WireDictionary = [
            "name": .string(account.name.text), "foldedName": .string(account.name.folded),
            "displayName": .string(account.displayName), "roles": .names(account.roles),
            "attributes": value(account.attributes), "state": .string(Account.State.active.rawValue),
            "password": password.map { .string($0.text.reveal()) } ?? .null, "credentialVersion": 1,
            "created": .date(now), "lastSignIn": .null,
        ]
        return RecordChange(IdentityCollections.accounts, .create(id.recordID, fields), if: .absent)
    }

    /// Without anything that is a person's but the name.
    static func emptied(_ account: Account) -> RecordChange {
        update(
            account,
            [
                "displayName": .string(account.name.text), "roles": [], "attributes": [], "password": .null,
                "state": .string(Account.State.deleted.rawValue), "lastSignIn": .null,
                "credentialVersion": .int64(account.credentialVersion + 1),
            ])
    }

    /// Changes fields of the account as it was read: another change in between refuses this one.
    static func update(_ account: Account, _ fields: WireDictionary) -> RecordChange {
        RecordChange(
            IdentityCollections.accounts, .update(account.id.recordID, fields), if: .revision(account.revision))
    }

    static func value(_ attributes: [String: String]) -> WireValue {
        .array(
            attributes.sorted { $0.key < $1.key }.map { ["name": .string($0.key), "value": .string($0.value)] })
    }

    private static func attributes(_ reader: RecordReader) throws -> [String: String] {
        var attributes: [String: String] = [:]
        for item in try reader.require(reader.record["attributes"].arrayValue, "attributes") {
            let name = try reader.require(item["name"]?.stringValue, "attributes")
            attributes[name] = try reader.require(item["value"]?.stringValue, "attributes")
        }
        return attributes
    }
}

/// Finds accounts.
struct AccountDirectory: Sendable {
    let records: IdentityRecords

    func account(_ id: AccountID) async throws -> Account? {
        try await records.record(id.recordID, in: IdentityCollections.accounts).map(AccountRecord.read)
    }

    /// By name, whatever its case.
    func account(named name: AccountName) async throws -> Account? {
        try await records.record(where: "foldedName", equals: name.folded, in: IdentityCollections.accounts)
            .map(AccountRecord.read)
    }

    /// The account, where it may sign in.
    func active(_ id: AccountID) async throws -> Account? {
        let account = try await account(id)
        return account?.state == .active ? account : nil
    }
}
