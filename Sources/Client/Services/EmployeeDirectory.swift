import ValueTree

/// Finding employees: the `OrganizationInterface` of the historical mobile application.
public struct EmployeeDirectory: Sendable {
    /// Employees of a page where the call names no number.
    public static let usualRowsPerPage = 20

    private let session: Session

    /// Calls the gateway with that sign-in.
    public init(_ session: Session) {
        self.session = session
    }

    /// - Parameters:
    ///   - name: beginnings of words of the first and last name, case and accents aside; empty: everyone.
    ///   - division: where they work; nil: anywhere.
    ///   - page: from 0; one behind the last is empty.
    /// - Throws: ``ClientError``.
    public func search(
        name: String = "", division: String? = nil, order: Order = .byDivision, page: Int = 0,
        rowsPerPage: Int = EmployeeDirectory.usualRowsPerPage
    ) async throws -> Page {
        let criteria = Criteria(
            fullName: name, division: division ?? "", order: order.rawValue, pageIndex: page, rowsPerPage: rowsPerPage)
        let call = ServerCall("POST", path: ["OrganizationInterfaceImplMobile", "employeeSearch"])
        let answer = try await session.answer(to: call.carrying(criteria))
        var page = try answer.value().read(as: Page.self)
        page.age = answer.age
        return page
    }

    /// By what the employees are ordered.
    public enum Order: String, Sendable {
        /// By division.
        case byDivision = "ASC"
        /// By division, the last first.
        case byDivisionDescending = "DESC"
    }

    /// One page of a search.
    public struct Page: Codable, Sendable, Equatable {
        /// In the order that was asked for.
        public let employees: [Employee]
        /// The number of employees in all.
        public let totalRows: Int
        /// The page's number; the first is 0.
        public let pageIndex: Int
        /// Employees of a page.
        public let rowsPerPage: Int
        /// Their age, where another system has their truth; nil: the gateway has it.
        public internal(set) var age: RecordAge?

        private enum CodingKeys: String, CodingKey {
            case employees, totalRows, pageIndex, rowsPerPage
        }
    }

    private struct Criteria: Codable {
        let fullName: String
        let division: String
        let order: String
        let pageIndex: Int
        let rowsPerPage: Int
    }
}

/// An employee, as the search gives them.
public struct Employee: Codable, Sendable, Equatable {
    /// The first name.
    public let firstName: String
    /// The last name.
    public let lastName: String
    /// The division's name.
    public let division: String
    /// Empty without one.
    public let email: String
    /// Empty without one.
    public let phoneNumber: String

    /// Creates the value from its parts.
    public init(firstName: String, lastName: String, division: String, email: String = "", phoneNumber: String = "") {
        self.firstName = firstName
        self.lastName = lastName
        self.division = division
        self.email = email
        self.phoneNumber = phoneNumber
    }
}

/// The users of the XML contract: who there is, and what is known of one.
public struct UserDirectory: Sendable {
    private let session: Session

    /// Calls the gateway with that sign-in.
    public init(_ session: Session) {
        self.session = session
    }

    /// Everyone, without details, in the order of their numbers.
    ///
    /// - Throws: ``ClientError``.
    public func list() async throws -> [Entry] {
        try await session.call(ServerCall(path: ["v2", "list"]), returning: List.self).entry.map {
            Entry(id: $0.id, name: $0.name)
        }
    }

    /// - Throws: ``ClientError``: `refused` with `record.notFound` where there is no one of that number.
    public func user(_ id: Int) async throws -> User {
        let detail: Detail = try await session.call(ServerCall(path: ["v2", String(id)]))
        return User(id: detail.id, name: detail.name, shoeSize: detail.shoeSize)
    }

    /// A user in the list.
    public struct Entry: Sendable, Equatable, Identifiable {
        /// The user's number.
        public let id: Int
        /// The user's name.
        public let name: String

        /// Creates the value from its parts.
        public init(id: Int, name: String) {
            self.id = id
            self.name = name
        }
    }

    /// A user with details.
    public struct User: Sendable, Equatable, Identifiable {
        /// The user's number.
        public let id: Int
        /// The user's name.
        public let name: String
        /// Size and width, such as `8.5M`.
        public let shoeSize: String

        /// Creates the value from its parts.
        public init(id: Int, name: String, shoeSize: String) {
            self.id = id
            self.name = name
            self.shoeSize = shoeSize
        }
    }

    // With the contract's names of the elements.
    private struct List: Codable { let entry: [Listed] }

    private struct Listed: Codable {
        let id: Int
        let name: String

        enum CodingKeys: String, CodingKey {
            case id = "UserId"
            case name = "UserName"
        }
    }

    private struct Detail: Codable {
        let id: Int
        let name: String
        let shoeSize: String

        enum CodingKeys: String, CodingKey {
            case id = "UserId"
            case name = "UserName"
            case shoeSize = "ShoeSize"
        }
    }
}
