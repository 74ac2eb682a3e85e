import AdapterKit

/// The entity, and the part of it that the contract tells.
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
        "employees", summary: "Somebody who works here.", key: EntityKey(id),
        fields: [
            Field(id, .string(TextLimits(minimumLength: 1, maximumLength: 40)), isRequired: true, summary: "The key."),
            Field(firstName, name, isRequired: true, summary: "The given name."),
            Field(lastName, name, isRequired: true, summary: "The family name."),
            Field(division, name, isRequired: true, summary: "Where somebody works."),
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

    /// Of a record, which has all of its fields in their declared order, those of the contract.
    static func told(_ record: Record) -> WireValue {
        var members: [WireDictionary.Entry] = []
        members.reserveCapacity(contractFields.count)
        for entry in record.fields.entries where contractFields.contains(where: { $0.text == entry.key }) {
            members.append(entry)
        }
        return .dictionary(WireDictionary(uncheckedUniqueKeys: members))
    }

    private static let name = Shape.string(TextLimits(minimumLength: 1, maximumLength: 100))
}
