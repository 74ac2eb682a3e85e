import ValueTree

/// Finding employees: the `OrganizationInterface` of the historical mobile application.
public struct EmployeeDirectory: Sendable {
    public static let usualRowsPerPage = 20

    private let session: Session

    public init(_ session: Session) {
        self.session = session
    }

    /// - Parameters:
    ///   - name: beginnings of words of the first and last name, case and accents aside; empty: everybody.
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
        return try await session.call(call, with: criteria)
    }

    public enum Order: String, Sendable {
        case byDivision = "ASC"
        case byDivisionDescending = "DESC"
    }

    public struct Page: Codable, Sendable, Equatable {
        public let employees: [Employee]
        /// How many there are in all.
        public let totalRows: Int
        public let pageIndex: Int
        public let rowsPerPage: Int
    }

    private struct Criteria: Codable {
        let fullName: String
        let division: String
        let order: String
        let pageIndex: Int
        let rowsPerPage: Int
    }
}

public struct Employee: Codable, Sendable, Equatable {
    public let firstName: String
    public let lastName: String
    public let division: String
    /// Empty without one.
    public let email: String
    /// Empty without one.
    public let phoneNumber: String
}
