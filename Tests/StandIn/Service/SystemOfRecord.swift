import AdapterKit
import Foundation

/// What a stand-in has: employees, users, a feed and chat rooms, with the interfaces of the systems that Portico mirrors.
///
/// A state machine without input or output: a request in, an answer out. Rows are made from the seed, so two stand-ins of
/// one seed answer alike until they are written to.
struct SystemOfRecord: Sendable {
    /// How much there is, and how writes are answered.
    struct Settings: Sendable {
        var employees = 500
        var users = 200
        var verses = 154
        var seed: UInt64 = 1
        /// Whether an idempotency key that comes again gets the first answer again.
        var honoursKeys = true
        /// Distinguishes this run from others in change tokens: those of another run are refused.
        var run = "0"
        var students = 1_000
        /// Entities of one page of OData.
        var odataPageSize = 1_000
        /// Whether SAP's paths need the portal's cookie.
        var requiresSignIn = false
    }

    /// The most rows of each table.
    static let most = (employees: 1_000_000, users: 100_000, verses: 5_000, students: AdmissionsRows.most)
    /// The most rows of a page.
    static let largestPage = 10_000
    static let defaultPage = 100

    let settings: Settings
    var employees: GeneratedTable<Employee>
    var users: GeneratedTable<StandInUser>
    var verses: GeneratedTable<String>
    var rooms: TwaddleRooms
    private(set) var applied: AppliedWrites
    let soap = SOAPInterface()
    let admissions: AdmissionsService
    /// The positions of employees with ids that clients chose, and the other way round.
    private var chosen: [String: Int] = [:]
    private var chosenIDs: [Int: String] = [:]
    /// Positions by division, and the employees' revision that they are of.
    private var byDivision: (revision: Int64, positions: [Int])?
    /// Where the next change of ``change(_:)`` is made.
    private var nextChange = 0

    init(_ settings: Settings) {
        self.settings = settings
        let (count, seed) = (settings.employees, settings.seed)
        employees = GeneratedTable(count) { Employee(generatedAt: $0, of: count, seed: seed) }
        users = GeneratedTable(settings.users) { StandInUser(generatedAt: $0, seed: seed) }
        verses = GeneratedTable(settings.verses, Sonnets.verse)
        rooms = TwaddleRooms(honoursIDs: settings.honoursKeys)
        applied = AppliedWrites(honoursKeys: settings.honoursKeys)
        admissions = AdmissionsService(
            AdmissionsService.Settings(
                students: settings.students, pageSize: settings.odataPageSize,
                requiresSignIn: settings.requiresSignIn, seed: settings.seed, run: settings.run))
    }

    /// One without rows, which answers in the same way.
    var withoutRows: SystemOfRecord {
        var settings = settings
        (settings.employees, settings.users, settings.verses, settings.students) = (0, 0, 0, 0)
        return SystemOfRecord(settings)
    }

    mutating func respond(to request: ServiceRequest) -> ServiceResponse {
        if AdmissionsService.isAt(request.path) {
            let response = admissions.respond(to: request)
            // Neither system knows idempotency keys.
            if AdmissionsService.isWrite(request), response.status < 300 { applied.note(request, response) }
            return response
        }
        do {
            return try route(request).conditional(request)
        } catch let error as ServiceError {
            return SOAPInterface.isAt(request.segments) ? soap.fault(error, to: request) : error.response
        } catch {
            return ServiceError(status: 500, code: "internal", message: "\(error)").response
        }
    }

    private mutating func route(_ request: ServiceRequest) throws -> ServiceResponse {
        var segments = request.segments[...]
        // The contract's path, with and without the context root.
        if segments.first == "iPhoneServicesModuleWeb" { segments = segments.dropFirst() }
        switch (segments.first, segments.count) {
        case (nil, _): return try read(request) { _ in Self.frontPage }
        case ("OrganizationInterfaceImplMobile", 2) where segments.last == "employeeSearch":
            guard request.method == "POST" else { throw Self.wrongMethod("POST") }
            return .json(try search(SearchCriteria(try request.json())))
        case ("sca", 2) where SOAPInterface.isAt(segments):
            if request.isRead, request.query.keys.contains(where: { $0.lowercased() == "wsdl" }) {
                return soap.wsdl(request)
            }
            guard request.method == "POST" else { throw Self.wrongMethod("POST") }
            let soap = soap
            return soap.answer(request) { criteria throws(ServiceError) in try search(SearchCriteria(criteria)) }
        case ("employees", 1):
            if request.method == "POST" { return try write(request) { try $0.createEmployee(request) } }
            return try read(request, "GET, HEAD, POST") { try $0.employeeList(request) }
        case ("employees", 2):
            let id = segments.last ?? ""
            switch request.method {
            case "PUT": return try write(request) { try $0.putEmployee(id, request) }
            case "DELETE": return try write(request) { try $0.deleteEmployee(id, request) }
            default: return try read(request, "GET, HEAD, PUT, DELETE") { try $0.employee(id) }
            }
        case ("v1", 2) where segments.last == "list": return try read(request) { $0.userList(isWhole: true) }
        case ("v2", 2) where segments.last == "list": return try read(request) { $0.userList(isWhole: false) }
        case ("v2", 2): return try read(request) { try $0.user(segments.last ?? "") }
        case ("v2", 3) where segments.dropFirst().first == "user":
            let id = segments.last ?? ""
            switch request.method {
            case "PUT": return try write(request) { try $0.putUser(id, request) }
            case "DELETE": return try write(request) { try $0.deleteUser(id) }
            default: return try read(request, "GET, HEAD, PUT, DELETE") { try $0.user(id) }
            }
        case ("plists", 2) where segments.last == "sonnets": return try read(request) { $0.feed() }
        case ("chat", 1):
            guard request.method == "POST" else { throw Self.wrongMethod("POST") }
            guard TwaddleRooms.isRead(try request.twaddle()) else {
                return try write(request) { try $0.twaddle(request) }
            }
            return try twaddle(request)
        case ("ledger", 1):
            return try read(request) { system in
                let start = try request.number("after", in: 0...1_000_000_000) ?? 0
                let limit = try request.number("limit", in: 1...Self.largestPage) ?? 1_000
                return .json(system.applied.page(after: start, limit: limit))
            }
        default: throw ServiceError.missing("There is nothing at \(request.path).")
        }
    }

    private mutating func read(
        _ request: ServiceRequest, _ methods: String = "GET, HEAD",
        _ answer: (inout Self) throws -> ServiceResponse
    ) throws -> ServiceResponse {
        guard request.isRead else { throw Self.wrongMethod(methods) }
        return try answer(&self)
    }

    /// Carries a write out once for each idempotency key, and notes it in the ledger. What is refused is not noted.
    private mutating func write(
        _ request: ServiceRequest, _ carryOut: (inout Self) throws -> ServiceResponse
    ) throws -> ServiceResponse {
        if let known = try applied.answer(to: request) { return known }
        let response = try carryOut(&self)
        applied.note(request, response)
        return response
    }

    private static func wrongMethod(_ allowed: String) -> ServiceError {
        ServiceError(
            status: 405, code: "method", message: "This path takes \(allowed).", fields: ["Allow": allowed])
    }

    func tag(_ revision: Int64) -> String { "\"\(settings.run)-\(revision)\"" }

    private static let frontPage = ServiceResponse(
        200, contentType: "text/html; charset=utf-8",
        body: Array(
            """
            <!DOCTYPE html><title>Stand-in</title><h1>A stand-in for a company's systems</h1><ul>
            <li><a href="/employees">/employees</a><li><a href="/v1/list">/v1/list</a><li><a href="/v2/list">/v2/list</a>
            <li><a href="/plists/sonnets">/plists/sonnets</a><li><a href="/ledger">/ledger</a></ul>

            """.utf8))
}

// MARK: Employees over REST

extension SystemOfRecord {
    /// All by offset or cursor, or what changed since a token.
    private mutating func employeeList(_ request: ServiceRequest) throws(ServiceError) -> ServiceResponse {
        let limit = try request.number("limit", in: 1...Self.largestPage) ?? Self.defaultPage
        if let token = request.query["changedSince"] { return try employeeChanges(token, limit) }
        let offset = try request.number("offset", in: 0...Int(Int32.max))
        let start: Int
        if let cursor = request.query["cursor"] {
            guard let position = Int(cursor), position >= 0 else { throw .invalid("There is no such cursor.") }
            start = position
        } else {
            start = employees.position(after: offset ?? 0)
        }
        let page = employees.rows(from: start, limit: limit)
        var document: WireDictionary = [
            "employees": .array(page.rows.map(\.row.value)), "totalRows": .int64(Int64(employees.count)),
            "changeToken": .string(token(employees.revision)),
        ]
        var fields = ["ETag": tag(employees.revision)]
        if let next = page.next {
            document["nextCursor"] = .string(String(next))
            let place = offset.map { "offset=\($0 + page.rows.count)" } ?? "cursor=\(next)"
            fields["Link"] = "</employees?\(place)&limit=\(limit)>; rel=\"next\""
        }
        return .json(.dictionary(document), fields: fields)
    }

    private func employeeChanges(_ token: String, _ limit: Int) throws(ServiceError) -> ServiceResponse {
        let parts = token.split(separator: "-")
        guard parts.count == 2, let revision = Int64(parts[1]), revision >= 0 else {
            throw .invalid("There is no such change token.")
        }
        guard parts[0] == settings.run, revision <= employees.revision else {
            throw ServiceError(status: 410, code: "expired", message: "The change token is no longer known.")
        }
        let (changes, isAll) = employees.changes(since: revision, limit: limit)
        let last = isAll ? employees.revision : changes.last?.revision ?? revision
        var fields: [String: String] = [:]
        if !isAll { fields["Link"] = "</employees?changedSince=\(self.token(last))&limit=\(limit)>; rel=\"next\"" }
        return .json(
            [
                "employees": .array(changes.compactMap { $0.row?.value }),
                "deleted": .array(changes.filter { $0.row == nil }.map { .string(id(at: $0.position)) }),
                "changeToken": .string(self.token(last)), "isComplete": .bool(isAll),
            ], fields: fields)
    }

    private func token(_ revision: Int64) -> String { "\(settings.run)-\(revision)" }

    private func id(at position: Int) -> String { chosenIDs[position] ?? Employee.id(at: position) }

    private func position(of id: String) -> Int? {
        chosen[id] ?? Employee.position(of: id).flatMap { $0 < employees.end && chosenIDs[$0] == nil ? $0 : nil }
    }

    private func employee(_ id: String) throws(ServiceError) -> ServiceResponse {
        guard let position = position(of: id), let employee = employees.row(at: position) else {
            throw .missing("There is no employee \(id).")
        }
        return .json(employee.value, fields: ["ETag": tag(employees.revision(at: position))])
    }

    private mutating func createEmployee(_ request: ServiceRequest) throws(ServiceError) -> ServiceResponse {
        try checkCapacity()
        let id = Employee.id(at: employees.end)
        let employee = try Employee(try request.json(), id: id)
        _ = employees.append(employee)
        return .json(
            employee.value, status: 201, fields: ["Location": "/employees/\(id)", "ETag": tag(employees.revision)])
    }

    private mutating func putEmployee(_ id: String, _ request: ServiceRequest) throws(ServiceError) -> ServiceResponse {
        guard !id.isEmpty, id.utf8.count <= Employee.longestID else { throw .refused("The id is too long.") }
        let employee = try Employee(try request.json(), id: id)
        let known = position(of: id)
        let isThere = known.flatMap { employees.row(at: $0) } != nil
        try checkCondition(request, known, isThere)
        if let known {
            employees.set(employee, at: known)
        } else {
            guard Employee.position(of: id) == nil else { throw .refused("Such ids are the server's to choose.") }
            try checkCapacity()
            let position = employees.append(employee)
            chosen[id] = position
            chosenIDs[position] = id
        }
        return .json(employee.value, status: isThere ? 200 : 201, fields: ["ETag": tag(employees.revision)])
    }

    private mutating func deleteEmployee(_ id: String, _ request: ServiceRequest) throws(ServiceError)
        -> ServiceResponse
    {
        guard let known = position(of: id), employees.row(at: known) != nil else {
            throw .missing("There is no employee \(id).")
        }
        try checkCondition(request, known, true)
        employees.set(nil, at: known)
        return ServiceResponse(204)
    }

    private func checkCapacity() throws(ServiceError) {
        guard employees.end < 2 * Self.most.employees else { throw .refused("There are too many employees.") }
    }

    private func checkCondition(_ request: ServiceRequest, _ position: Int?, _ isThere: Bool) throws(ServiceError) {
        let tag = isThere ? position.map { self.tag(employees.revision(at: $0)) } : nil
        if let wanted = request["If-Match"], wanted == "*" ? tag == nil : wanted != tag {
            throw ServiceError(status: 412, code: "changed", message: "The employee has changed.")
        }
        if request["If-None-Match"] == "*", tag != nil {
            throw ServiceError(status: 412, code: "exists", message: "The employee is there already.")
        }
    }
}

// MARK: The search of the mobile contract

extension SystemOfRecord {
    /// A page by division. A search by name reads every row.
    private mutating func search(_ criteria: SearchCriteria) throws(ServiceError) -> WireValue {
        let page: [Employee]
        let total: Int
        if criteria.isUnfiltered {
            total = employees.count
            page = criteria.range(of: total).compactMap { employees.row(at: position(inOrder: $0, criteria)) }
        } else {
            let found = (0..<employees.end).compactMap { position in
                employees.row(at: position).flatMap { criteria.includes($0) ? (position, $0) : nil }
            }
            let sorted = found.sorted { ($0.1.division, $0.0) < ($1.1.division, $1.0) }
            total = sorted.count
            page = criteria.range(of: total).map { sorted[criteria.isDescending ? total - 1 - $0 : $0].1 }
        }
        return [
            "employees": .array(page.map(\.contractValue)), "totalRows": .int64(Int64(total)),
            "pageIndex": .int64(criteria.pageIndex), "rowsPerPage": .int64(criteria.rowsPerPage),
        ]
    }

    private mutating func position(inOrder index: Int, _ criteria: SearchCriteria) -> Int {
        let index = criteria.isDescending ? employees.count - 1 - index : index
        // As they are made, rows stand in the order of their divisions.
        guard employees.revision > 0 else { return index }
        if byDivision?.revision != employees.revision { sortByDivision() }
        return byDivision?.positions[index] ?? index
    }

    /// Merges the rows that were written into the others, which are in order.
    private mutating func sortByDivision() {
        let written = Set(employees.writtenPositions)
        let moved = written.compactMap { position in employees.row(at: position).map { ($0.division, position) } }
            .sorted { $0 < $1 }
        var positions: [Int] = []
        positions.reserveCapacity(employees.count)
        var next = 0
        for position in 0..<employees.generated where !written.contains(position) {
            let division = InventedNames.division(at: position, of: employees.generated)
            while next < moved.count, moved[next] < (division, position) {
                positions.append(moved[next].1)
                next += 1
            }
            positions.append(position)
        }
        positions += moved[next...].map(\.1)
        byDivision = (employees.revision, positions)
    }
}

/// The criteria of the mobile contract. Old clients send numbers as texts.
struct SearchCriteria: Sendable {
    let division: String
    let isDescending: Bool
    let rowsPerPage: Int64
    let pageIndex: Int64
    private let words: [String]
    private let hasName: Bool

    init(_ value: WireValue) throws(ServiceError) {
        guard let members = value.dictionaryValue else { throw .invalid("The criteria are a JSON object.") }
        func text(_ name: String) throws(ServiceError) -> String {
            guard let member = members[name], !member.isNull else { return "" }
            guard let text = member.stringValue else { throw .invalid("\(name) is a text.") }
            return text
        }
        func number(_ name: String, _ standard: Int64, _ range: ClosedRange<Int64>) throws(ServiceError) -> Int64 {
            guard let member = members[name], !member.isNull else { return standard }
            if case .bool = member { throw .invalid("\(name) is a number.") }
            guard let number = member.int64Value ?? member.stringValue.flatMap({ Int64($0) }), range.contains(number)
            else { throw .invalid("\(name) is a number from \(range.lowerBound) to \(range.upperBound).") }
            return number
        }
        division = try text("division")
        let order = try text("order")
        guard ["", "ASC", "DESC"].contains(order) else { throw .invalid("order is ASC or DESC.") }
        isDescending = order == "DESC"
        rowsPerPage = try number("rowsPerPage", 20, 1...Int64(SystemOfRecord.largestPage))
        pageIndex = try number("pageIndex", 0, 0...Int64(Int32.max))
        let name = try text("fullName")
        hasName = name.contains { !$0.isWhitespace }
        words = Employee.words(name)
    }

    var isUnfiltered: Bool { division.isEmpty && !hasName }

    func includes(_ employee: Employee) -> Bool {
        guard division.isEmpty || employee.division == division else { return false }
        guard hasName else { return true }
        let name = employee.nameWords()
        return !words.isEmpty && words.allSatisfy { word in name.contains { $0.hasPrefix(word) } }
    }

    /// Which of so many rows are on the page.
    func range(of total: Int) -> Range<Int> {
        // Both factors have less than 32 bits.
        let start = min(Int(pageIndex * rowsPerPage), total)
        return start..<min(total, start + Int(rowsPerPage))
    }
}

// MARK: Changes by order

extension SystemOfRecord {
    /// Changes that ``portico-stand-in change`` orders.
    struct Changes: Sendable, Equatable {
        enum Table: String, Sendable, CaseIterable { case employees, users, sonnets, students }
        enum Kind: String, Sendable, CaseIterable { case update, add, delete }

        var count: Int
        var table = Table.employees
        var kind = Kind.update
    }

    /// Changes so many rows as if people had, each a different one. Returns how many there were to change.
    mutating func change(_ changes: Changes) -> Int {
        switch (changes.table, changes.kind) {
        case (.students, _): return (try? admissions.rows().change(changes.count, changes.kind)) ?? 0
        case (.employees, .add):
            return repeating(changes.count, upTo: 2 * Self.most.employees - employees.end) {
                let made = Employee(generatedAt: $0.employees.end, of: $0.employees.end, seed: $0.settings.seed)
                _ = $0.employees.append(made)
            }
        case (.users, .add):
            return repeating(changes.count, upTo: 2 * Self.most.users - users.end) {
                _ = $0.users.append(StandInUser(generatedAt: $0.users.end, seed: $0.settings.seed))
            }
        case (.sonnets, .add):
            return repeating(changes.count, upTo: 2 * Self.most.verses - verses.end) {
                _ = $0.verses.append(Sonnets.verse($0.verses.end))
            }
        case (.employees, _):
            return alter(\.employees, changes) { employee, revision in
                employee.phoneNumber = "+1 \(201 + revision % 799) 555 01\(10 + revision % 90)"
            }
        case (.users, _):
            return alter(\.users, changes) { user, revision in user.shoeSize = "\(5 + revision % 9).5W" }
        case (.sonnets, _):
            return alter(\.verses, changes) { verse, revision in
                verse = (verse.components(separatedBy: "\n(").first ?? verse) + "\n(revision \(revision))"
            }
        }
    }

    private mutating func repeating(_ count: Int, upTo most: Int, _ body: (inout Self) -> Void) -> Int {
        let count = max(0, min(count, most))
        for _ in 0..<count { body(&self) }
        return count
    }

    private mutating func alter<Row>(
        _ table: WritableKeyPath<Self, GeneratedTable<Row>>, _ changes: Changes, _ edit: (inout Row, Int64) -> Void
    ) -> Int {
        let end = self[keyPath: table].end
        let count = min(changes.count, self[keyPath: table].count)
        var done = 0
        while done < count {
            let position = nextChange % end
            nextChange = position + 1
            guard var row = self[keyPath: table].row(at: position) else { continue }
            if changes.kind == .delete {
                self[keyPath: table].set(nil, at: position)
            } else {
                edit(&row, self[keyPath: table].revision + 1)
                self[keyPath: table].set(row, at: position)
            }
            done += 1
        }
        return done
    }
}
