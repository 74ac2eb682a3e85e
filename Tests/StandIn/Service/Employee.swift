import AdapterKit
import Foundation

/// An employee as the service has it; the members of the mobile contract and an id.
struct Employee: Sendable, Equatable {
    var id: String
    var firstName: String
    var lastName: String
    var division: String
    var email: String
    var phoneNumber: String

    /// The longest text of a field, in bytes.
    static let longestText = 200
    /// The longest id, in bytes.
    static let longestID = 40

    var value: WireValue {
        [
            "id": .string(id), "firstName": .string(firstName), "lastName": .string(lastName),
            "division": .string(division), "email": .string(email), "phoneNumber": .string(phoneNumber),
        ]
    }

    /// What the mobile contract returns.
    var contractValue: WireValue {
        [
            "firstName": .string(firstName), "lastName": .string(lastName), "division": .string(division),
            "email": .string(email), "phoneNumber": .string(phoneNumber),
        ]
    }

    /// Reads a document of a client. Names and division are required; other members are ignored.
    init(_ value: WireValue, id: String) throws(ServiceError) {
        guard let members = value.dictionaryValue else { throw .invalid("An employee is a JSON object.") }
        func text(_ name: String, isRequired: Bool) throws(ServiceError) -> String {
            guard let member = members[name], !member.isNull else {
                guard !isRequired else { throw .invalid("\(name) is missing.") }
                return ""
            }
            guard let text = member.stringValue else { throw .invalid("\(name) is a text.") }
            guard text.utf8.count <= Self.longestText else {
                throw .refused("\(name) has at most \(Self.longestText) bytes.")
            }
            guard !isRequired || !text.isEmpty else { throw .refused("\(name) is empty.") }
            return text
        }
        self.id = id
        firstName = try text("firstName", isRequired: true)
        lastName = try text("lastName", isRequired: true)
        division = try text("division", isRequired: true)
        email = try text("email", isRequired: false)
        phoneNumber = try text("phoneNumber", isRequired: false)
    }

    /// The invented employee at a position, of so many. The first two are called John Doe. Divisions follow each other in
    /// the order of the positions.
    init(generatedAt position: Int, of count: Int, seed: UInt64) {
        var random = SeededRandom(seed: seed &+ UInt64(truncatingIfNeeded: position) &* 0x9E37_79B9)
        let isDoe = position < 2
        id = Self.id(at: position)
        firstName = isDoe ? "John" : random.element(of: InventedNames.first)
        lastName = isDoe ? "Doe" : random.element(of: InventedNames.last)
        division = InventedNames.division(at: position, of: count)
        email = "e\(Self.firstNumber + position)@example.com"
        // Numbers that are set aside for fiction: 555-0100 to 555-0199.
        phoneNumber = "+1 \(201 + random.next() % 799) 555 01\(10 + random.next() % 90)"
    }

    static let firstNumber = 100_000

    static func id(at position: Int) -> String { "E\(firstNumber + position)" }

    /// The position of an invented employee's id.
    static func position(of id: String) -> Int? {
        guard id.first == "E", let number = Int(id.dropFirst()), number >= firstNumber,
            Self.id(at: number - firstNumber) == id
        else { return nil }
        return number - firstNumber
    }

    /// The words of the name, in one case and without accents.
    func nameWords() -> [String] { Self.words(firstName + " " + lastName) }

    static func words(_ text: String) -> [String] {
        text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
            .split { !$0.isLetter && !$0.isNumber }.map(String.init)
    }
}

enum InventedNames {
    /// The division of a position, of so many: divisions follow each other. No overflow: there are two million at most.
    static func division(at position: Int, of count: Int) -> String {
        divisions[min(position * divisions.count / max(count, 1), divisions.count - 1)]
    }

    /// In their order.
    static let divisions = [
        "Accounting", "Customer Care", "Design", "Engineering", "Facilities", "Human Resources", "Legal", "Logistics",
        "Marketing", "Purchasing", "Research", "Sales",
    ]
    static let first = [
        "Ada", "Amélie", "Anton", "Björn", "Carla", "Chloé", "Deniz", "Elena", "Emma", "François", "Grace", "Hana",
        "Ivan", "Jean-Luc", "João", "Jonas", "Kenji", "Leila", "Lucía", "Magnus", "Maria", "Mehmet", "Nadia", "Noah",
        "Olga", "Priya", "René", "Siobhán", "Sofia", "Thomas", "Wei", "Yusuf", "Zoë",
    ]
    static let last = [
        "Adeyemi", "Almeida", "Andersen", "Bakker", "Bergström", "Chowdhury", "Dubois", "Eriksen", "Fischer", "Fujita",
        "García", "Gupta", "Haddad", "Horváth", "Ito", "Jovanović", "Khan", "Kowalski", "Krüger", "Lindqvist",
        "MacLeod", "Mbeki", "Müller", "Nguyen", "Novák", "O'Brien", "Okafor", "Patel", "Rossi", "Sánchez", "Smith",
        "Sørensen", "Tanaka", "Virtanen", "von Berg", "Yıldız", "Zhang",
    ]
}

extension SeededRandom {
    mutating func element<Element>(of list: [Element]) -> Element { list[Int(next() % UInt64(list.count))] }
}
