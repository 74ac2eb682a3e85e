import AdapterKit

/// Who can be talked to.
extension ChatFunction {
    static let users = ChatFunction(
        "getusers", "The accounts that may sign in, without the caller.", .reads,
        input: [
            Inputs.page(1000, Limits.largestPeoplePage),
            Member("after", Limits.accountName, summary: "Those after this name."),
        ],
        output: [Member("users", .list(of: .object(person)), isRequired: true)],
        at: [.chat(.get, "/chat/v1/users", query: [Inputs.limit, "after"])]
    ) { call in
        // One more than asked for, since the caller may be among them.
        let limit = call.limit(1000)
        let accounts = try await call.accounts.accounts(after: call.text("after"), limit: limit + 1)
        let others = accounts.filter { $0.name.uppercased() != call.caller.uppercased() }.prefix(limit)
        return ["users": .array(others.map { ["id": .string($0.name), "name": .string($0.displayName)] })]
    }

    private static let person = ObjectShape(
        "ChatUser",
        members: [
            Member("id", .string, isRequired: true, summary: "The account name, as members and messages have it."),
            Member("name", .string, isRequired: true),
        ])
}
