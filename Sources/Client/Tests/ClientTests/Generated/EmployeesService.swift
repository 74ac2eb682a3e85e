// swift-format-ignore-file
// Written by `porticoctl client generate` from the declarations of employees. Generate it anew, do not edit it.
// Not here, because they carry no values: soap, wsdl.
import Client
import Foundation

public struct EmployeesService: Sendable {
    private let session: Session

    public init(_ session: Session) {
        self.session = session
    }

    /// Creates a record.
    public func createEmployee(_ input: EmployeeFields) async throws -> Employee {
        try await session.call(ServerCall("POST", path: ["api", "v1", "employees", "employees"]), with: input)
    }

    /// Deletes a record.
    public func deleteEmployee(_ id: String) async throws {
        try await session.perform(ServerCall("DELETE", path: ["api", "v1", "employees", "employees", String(id)]))
    }

    /// A page of the employees that meet the criteria, by division.
    public func employeeSearch(_ input: SearchCriteriaBO) async throws -> PageOfEmployeeBO {
        try await session.call(ServerCall("POST", path: ["OrganizationInterfaceImplMobile", "employeeSearch"]), with: input)
    }

    /// A page of records.
    ///
    /// - Parameter filter: Which records, such as `firstName eq 'x'`.
    /// - Parameter search: Words of the search fields.
    /// - Parameter order: Fields by comma; `-` descends.
    /// - Parameter select: Fields by comma.
    /// - Parameter limit: Records of a page.
    /// - Parameter cursor: `next` of the page before; `filter` and `order` stay.
    /// - Parameter count: Whether `total` is answered.
    public func listEmployees(filter: String? = nil, search: String? = nil, order: String? = nil, select: String? = nil, limit: Int64? = nil, cursor: String? = nil, count: Bool? = nil) async throws -> EmployeesPage {
        var query: [(name: String, value: String)] = []
        if let filter { query.append((name: "filter", value: String(filter))) }
        if let search { query.append((name: "search", value: String(search))) }
        if let order { query.append((name: "order", value: String(order))) }
        if let select { query.append((name: "select", value: String(select))) }
        if let limit { query.append((name: "limit", value: String(limit))) }
        if let cursor { query.append((name: "cursor", value: String(cursor))) }
        if let count { query.append((name: "count", value: String(count))) }
        return try await session.call(ServerCall("GET", path: ["api", "v1", "employees", "employees"], query: query))
    }

    /// One record.
    public func readEmployee(_ id: String) async throws -> Employee {
        try await session.call(ServerCall("GET", path: ["api", "v1", "employees", "employees", String(id)]))
    }

    /// Sets a whole record.
    public func replaceEmployee(_ id: String, _ input: EmployeeFields) async throws -> Employee {
        try await session.call(ServerCall("PUT", path: ["api", "v1", "employees", "employees", String(id)]), with: input)
    }

    /// Changes the named fields of a record.
    public func updateEmployee(_ id: String, _ input: EmployeeFields) async throws -> Employee {
        try await session.call(ServerCall("PATCH", path: ["api", "v1", "employees", "employees", String(id)]), with: input)
    }
}

extension EmployeesService {
    public struct Employee: Codable, Sendable, Equatable {
        /// The key.
        public var id: String?
        /// The given name.
        public var firstName: String?
        /// The family name.
        public var lastName: String?
        /// Where the employee works.
        public var division: String?
        /// The address; empty without one.
        public var email: String?
        /// The number; empty without one.
        public var phoneNumber: String?

        public init(id: String? = nil, firstName: String? = nil, lastName: String? = nil, division: String? = nil, email: String? = nil, phoneNumber: String? = nil) {
            self.id = id
            self.firstName = firstName
            self.lastName = lastName
            self.division = division
            self.email = email
            self.phoneNumber = phoneNumber
        }
    }

    public struct EmployeeBO: Codable, Sendable, Equatable {
        /// The given name.
        public var firstName: String
        /// The family name.
        public var lastName: String
        /// Where the employee works.
        public var division: String
        /// The address; empty without one.
        public var email: String
        /// The number; empty without one.
        public var phoneNumber: String

        public init(firstName: String, lastName: String, division: String, email: String, phoneNumber: String) {
            self.firstName = firstName
            self.lastName = lastName
            self.division = division
            self.email = email
            self.phoneNumber = phoneNumber
        }
    }

    public struct EmployeeFields: Codable, Sendable, Equatable {
        public var id: String?
        public var firstName: String?
        public var lastName: String?
        public var division: String?
        public var email: String?
        public var phoneNumber: String?

        public init(id: String? = nil, firstName: String? = nil, lastName: String? = nil, division: String? = nil, email: String? = nil, phoneNumber: String? = nil) {
            self.id = id
            self.firstName = firstName
            self.lastName = lastName
            self.division = division
            self.email = email
            self.phoneNumber = phoneNumber
        }
    }

    public struct EmployeesPage: Codable, Sendable, Equatable {
        public var items: [Employee]
        public var next: String?
        public var total: Int64?

        public init(items: [Employee], next: String? = nil, total: Int64? = nil) {
            self.items = items
            self.next = next
            self.total = total
        }
    }

    public struct PageOfEmployeeBO: Codable, Sendable, Equatable {
        public var employees: [EmployeeBO]
        /// How many employees meet the criteria in all.
        public var totalRows: Int64
        /// This page, from 0.
        public var pageIndex: Int64
        /// At most that many employees.
        public var rowsPerPage: Int64

        public init(employees: [EmployeeBO], totalRows: Int64, pageIndex: Int64, rowsPerPage: Int64) {
            self.employees = employees
            self.totalRows = totalRows
            self.pageIndex = pageIndex
            self.rowsPerPage = rowsPerPage
        }
    }

    public struct SearchCriteriaBO: Codable, Sendable, Equatable {
        /// Only this division; empty: all.
        public var division: String?
        /// The order of the divisions.
        public var order: Order?
        /// How many employees a page has at most.
        public var rowsPerPage: Int64?
        /// Which page, from 0; one past the end is empty.
        public var pageIndex: Int64?
        /// Beginnings of first and last name, case and accents aside; empty: every employee.
        public var fullName: String?

        public init(division: String? = nil, order: Order? = nil, rowsPerPage: Int64? = nil, pageIndex: Int64? = nil, fullName: String? = nil) {
            self.division = division
            self.order = order
            self.rowsPerPage = rowsPerPage
            self.pageIndex = pageIndex
            self.fullName = fullName
        }

        public enum Order: String, Codable, Sendable {
            case asc = "ASC"
            case desc = "DESC"
        }
    }
}
