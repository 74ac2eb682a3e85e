import AdapterKit
import WireFormats

/// A user of the XML contract.
struct StandInUser: Sendable, Equatable {
    var number: Int64
    var name: String
    var shoeSize: String

    static let firstNumber = 100
    static let namespace = "http://captechventures.com/schema"

    init(number: Int64, name: String, shoeSize: String) {
        self.number = number
        self.name = name
        self.shoeSize = shoeSize
    }

    /// The first two are those of the contract.
    init(generatedAt position: Int, seed: UInt64) {
        var random = SeededRandom(seed: seed &+ UInt64(truncatingIfNeeded: position) &* 0x85EB_CA6B)
        number = Int64(Self.firstNumber + position)
        switch position {
        case 0: (name, shoeSize) = ("Fake 1", "8.5M")
        case 1: (name, shoeSize) = ("Fake 2", "12W")
        default:
            name = random.element(of: InventedNames.first) + " " + random.element(of: InventedNames.last)
            shoeSize =
                "\(5 + random.next() % 9)\(random.next() % 2 == 0 ? ".5" : "")\(random.next() % 2 == 0 ? "M" : "W")"
        }
    }

    func elements(isWhole: Bool) -> String {
        let short = "<UserId>\(number)</UserId><UserName>\(name.escapedForXML)</UserName>"
        return isWhole ? short + "<ShoeSize>\(shoeSize.escapedForXML)</ShoeSize>" : short
    }
}

extension SystemOfRecord {
    func userList(isWhole: Bool) -> ServiceResponse {
        var text = Self.xmlDeclaration + "<UserList xmlns=\"\(StandInUser.namespace)\">"
        for position in 0..<users.end {
            guard let user = users.row(at: position) else { continue }
            text += "<entry>" + user.elements(isWhole: isWhole) + "</entry>"
        }
        return Self.xml(text + "</UserList>", tag(users.revision))
    }

    func user(_ id: String) throws(ServiceError) -> ServiceResponse {
        let position = try userPosition(id)
        guard let user = users.row(at: position) else { throw .missing("There is no user \(id).") }
        return document(user, users.revision(at: position))
    }

    /// Replaces or creates a user; the number in the document is that of the path.
    mutating func putUser(_ id: String, _ request: ServiceRequest) throws(ServiceError) -> ServiceResponse {
        let position = try userPosition(id)
        guard position < Self.most.users else { throw .refused("The number is too large.") }
        let document: WireValue
        do { document = try XMLFormat().read(request.body) } catch { throw .invalid("The body is no XML: \(error)") }
        func text(_ name: String) -> String? {
            document.dictionaryValue?.first { $0.key == name || $0.key.hasSuffix("}" + name) }?.value.stringValue
        }
        guard let number = text("UserId"), let name = text("UserName"), let size = text("ShoeSize") else {
            throw .invalid("A user has UserId, UserName and ShoeSize.")
        }
        guard number == id else { throw .refused("UserId is not the one of the path.") }
        guard !name.isEmpty, name.utf8.count <= Employee.longestText, !size.isEmpty, size.utf8.count <= 16 else {
            throw .refused("A name or a shoe size is empty or too long.")
        }
        let user = StandInUser(number: Int64(position + StandInUser.firstNumber), name: name, shoeSize: size)
        let isNew = users.row(at: position) == nil
        // Numbers in between are not taken by it.
        while users.end < position {
            let gap = users.append(user)
            users.set(nil, at: gap)
        }
        if position == users.end { _ = users.append(user) } else { users.set(user, at: position) }
        var response = self.document(user, users.revision)
        response.status = isNew ? 201 : 200
        return response
    }

    mutating func deleteUser(_ id: String) throws(ServiceError) -> ServiceResponse {
        let position = try userPosition(id)
        guard users.row(at: position) != nil else { throw .missing("There is no user \(id).") }
        users.set(nil, at: position)
        return ServiceResponse(204)
    }

    private func userPosition(_ id: String) throws(ServiceError) -> Int {
        guard let number = Int(id), number.magnitude <= Int32.max else {
            throw .invalid("A user's number is an integer.")
        }
        guard number >= StandInUser.firstNumber else { throw .missing("There is no user \(number).") }
        return number - StandInUser.firstNumber
    }

    private func document(_ user: StandInUser, _ revision: Int64) -> ServiceResponse {
        let namespace = "xmlns=\"\(StandInUser.namespace)\""
        return Self.xml(
            Self.xmlDeclaration + "<user \(namespace)>" + user.elements(isWhole: true) + "</user>", tag(revision))
    }

    private static let xmlDeclaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

    private static func xml(_ text: String, _ tag: String) -> ServiceResponse {
        ServiceResponse(
            200, contentType: "application/xml; charset=utf-8", fields: ["ETag": tag], body: Array(text.utf8))
    }
}
