import AdapterKit

/// The whole list, in the order of the numbers: the contract knows no pages, so it is read page by page here.
struct UserList {
    static let pageSize = 1_000
    /// Beyond it a caller is sent to the entity's resource, which has pages.
    static let maximumLength = 50_000

    private let records: any RecordStore

    init(_ records: any RecordStore) {
        self.records = records
    }

    /// Throws `request.limitExceeded` where there are more than ``maximumLength``: a list that silently lacks its end
    /// would look complete.
    func entries(_ entry: (Record) -> WireDictionary) async throws -> [WireValue] {
        var entries: [WireValue] = []
        var query = Query(order: [SortKey(Users.userID)], limit: Self.pageSize)
        while true {
            let page = try await records.query(query, in: Users.entity.name)
            entries += page.records.map { .dictionary(entry($0)) }
            guard entries.count <= Self.maximumLength else { throw Self.tooLong }
            guard let next = page.next else { return entries }
            query.start = .after(next)
        }
    }

    private static let tooLong = PorticoError(
        .requestLimitExceeded,
        "There are more than \(maximumLength) users; read them page by page at /api/v1/users/users.")
}

extension WireDictionary {
    /// The members of these names, in their order.
    func only(_ names: [FieldName]) -> WireDictionary {
        var kept = WireDictionary()
        for name in names { kept[name.text] = self[name.text] }
        return kept
    }
}
