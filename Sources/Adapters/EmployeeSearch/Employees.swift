import AdapterKit

/// The entity, and the fields of it that the contract returns.
enum Employees {
    static let id: FieldName = "id"
    static let firstName: FieldName = "firstName"
    static let lastName: FieldName = "lastName"
    static let division: FieldName = "division"
    static let email: FieldName = "email"
    static let phoneNumber: FieldName = "phoneNumber"

    /// The members of the contract's `EmployeeBO`.
    static let contractFields = [firstName, lastName, division, email, phoneNumber]

    static let entity = Entity(
        "employees", summary: "An employee.", key: EntityKey(id),
        fields: [
            Field(id, .string(TextLimits(minimumLength: 1, maximumLength: 40)), isRequired: true, summary: "The key."),
            Field(firstName, name, isRequired: true, summary: "The given name."),
            Field(lastName, name, isRequired: true, summary: "The family name."),
            Field(division, name, isRequired: true, summary: "Where the employee works."),
            // Clients of the contract expect all five members in every answer, so there is no null.
            Field(email, .string(maximumLength: 254), defaultValue: "", summary: "The address; empty without one."),
            Field(phoneNumber, .string(maximumLength: 40), defaultValue: "", summary: "The number; empty without one."),
        ],
        indexes: [Index([division, id])], searchFields: [firstName, lastName])

    static let shape = ObjectShape(
        "EmployeeBO",
        members: contractFields.compactMap { field in
            entity.field(field).map { Member(field, $0.shape, isRequired: true, summary: $0.summary) }
        })

    /// The contract's value of a record, which has all of its fields in their declared order.
    static func value(_ record: Record) -> WireValue {
        var members: [WireDictionary.Entry] = []
        members.reserveCapacity(contractFields.count)
        for entry in record.fields.entries where contractFields.contains(where: { $0.text == entry.key }) {
            members.append(entry)
        }
        return .dictionary(WireDictionary(uncheckedUniqueKeys: members))
    }

    private static let name = Shape.string(TextLimits(minimumLength: 1, maximumLength: 100))
}

/// Criteria of a search, and the page of it: the contract's `SearchCriteriaBO`.
struct SearchCriteria {
    enum Order: String, CaseIterable {
        case ascending = "ASC"
        case descending = "DESC"
    }

    static let maximumRowsPerPage: Int64 = 500
    static let defaultRowsPerPage: Int64 = 20
    /// Times ``maximumRowsPerPage`` it stays far below what an offset can be.
    static let maximumPageIndex = Int64(Int32.max)
    static let maximumWords = 16

    let page: Int64
    let rows: Int64
    let query: Query

    /// Takes an input that was checked against ``shape``. Throws `request.invalid` for too many words.
    init(_ input: WireDictionary) throws(PorticoError) {
        page = input[Self.pageIndex.text]?.int64Value ?? 0
        rows = input[Self.rowsPerPage.text]?.int64Value ?? Self.defaultRowsPerPage
        let isDescending = input[Self.order.text]?.stringValue == Order.descending.rawValue
        let filter = Filter.both(
            try Self.nameFilter(input[Self.fullName.text]?.stringValue ?? ""),
            Self.divisionFilter(input[Employees.division.text]?.stringValue ?? ""))
        // The key too is turned round, so that one order is the exact reverse of the other.
        query = Query(
            filter,
            order: [Employees.division, Employees.id].map { SortKey($0, descending: isDescending) },
            limit: Int(rows), start: .offset(Int(page * rows)), countsAll: true)
    }

    /// Every word of what was typed begins a word of the name. Empty text finds every employee; text without a letter
    /// or a digit finds none.
    private static func nameFilter(_ text: String) throws(PorticoError) -> Filter? {
        guard text.contains(where: { !$0.isWhitespace }) else { return nil }
        let words = text.split { !$0.isLetter && !$0.isNumber }.map(String.init)
        guard words.count <= maximumWords else {
            throw PorticoError(
                .requestInvalid, "A name has at most \(maximumWords) words.", target: fullName.text)
        }
        return words.isEmpty ? .never : .search(words: words)
    }

    private static func divisionFilter(_ division: String) -> Filter? {
        division.isEmpty ? nil : .compare(Employees.division, .equal, .string(division))
    }
}

extension SearchCriteria {
    static let order: FieldName = "order"
    static let rowsPerPage: FieldName = "rowsPerPage"
    static let pageIndex: FieldName = "pageIndex"
    static let fullName: FieldName = "fullName"

    /// Old clients turn numbers into texts, and send empty texts for what was not filled in.
    static let shape = ObjectShape(
        "SearchCriteriaBO",
        members: [
            Member(
                Employees.division, .string(maximumLength: 100), isNullable: true,
                summary: "Only this division; empty: all."),
            Member(
                order, .choice(Order.allCases.map(\.rawValue)), defaultValue: .string(Order.ascending.rawValue),
                summary: "The order of the divisions."),
            Member(
                rowsPerPage, .integer(IntegerRange(1...maximumRowsPerPage)), defaultValue: .int64(defaultRowsPerPage),
                acceptsText: true, summary: "How many employees a page has at most."),
            Member(
                pageIndex, .integer(IntegerRange(0...maximumPageIndex)), defaultValue: 0, acceptsText: true,
                summary: "Which page, from 0; one past the end is empty."),
            Member(
                fullName, .string(maximumLength: 200), isNullable: true,
                summary: "Beginnings of first and last name, case and accents aside; empty: every employee."),
        ])
}
