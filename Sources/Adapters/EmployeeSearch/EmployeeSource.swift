import AdapterKit
import SOAP
import WireFormats

/// Employees of a system that answers the contract's search, in JSON or over SOAP: asked for every employee, page by page,
/// or for those that a caller searches.
///
/// The contract gives an employee no key. The key is the e-mail address where it is short enough, else made of all
/// fields: an employee without an address who changes is another employee.
struct EmployeeSource: Sendable {
    static let defaultPath = "OrganizationInterfaceImplMobile/employeeSearch"
    private static let mediaTypes: Set<String> = ["application/json"]
    private static let rowsPerPage = SearchCriteria.maximumRowsPerPage

    /// The protocol of the search.
    enum Exchange: Sendable {
        case json
        case soap(SOAPSearch, SOAPTokens)

        var isSOAP: Bool { if case .soap = self { true } else { false } }
    }

    let upstream: any Upstream
    /// Where the search is, relative to the upstream's address.
    let path: String
    let exchange: Exchange

    func page(_ request: MirrorRequest) async throws -> MirrorPage {
        let place = request.page.flatMap(PagePlace.init)
        let index = place?.index ?? 0
        let (answer, age) = try await answer(
            to: SOAPSearch.everyone(page: index), for: request.caller, within: request.deadline)
        guard let employees = answer[SOAPSearch.listName]?.arrayValue else {
            throw MirrorRefusal(.unexpected, "the answer has no list of employees")
        }
        var rows: [WireDictionary] = []
        rows.reserveCapacity(employees.count)
        for employee in employees {
            guard let members = employee.dictionaryValue else {
                throw MirrorRefusal(.unexpected, "an employee is no dictionary")
            }
            rows.append(Self.row(members))
        }
        // A system that pays no heed to `pageIndex` answers the first page each time: the employees after it would be missing.
        let content = rows.count > 1 ? Self.fingerprint(rows.map(Self.text(of:)).joined(separator: "\n\n")) : nil
        guard content == nil || content != place?.content else {
            throw MirrorRefusal(.unexpected, "a page is the same as the one before")
        }
        let total = try total(of: answer, since: place?.total)
        let hasMore = try hasMore(after: index, count: Int64(rows.count), answer, of: total)
        let next = PagePlace(index: index + 1, total: total, content: content)
        return MirrorPage(rows, next: hasMore ? next.text : nil, age: age)
    }

    /// The page that a caller asks for, as the contract has it. Throws ``MirrorRefusal`` for another document.
    func search(_ criteria: WireDictionary, for caller: Principal) async throws -> OperationResult {
        let page = criteria[SearchCriteria.pageIndex.text]?.int64Value ?? 0
        let rows = criteria[SearchCriteria.rowsPerPage.text]?.int64Value ?? SearchCriteria.defaultRowsPerPage
        let asked: WireValue = [
            "division": .string(criteria[Employees.division.text]?.stringValue ?? ""),
            "order": criteria[SearchCriteria.order.text] ?? "ASC", "rowsPerPage": .int64(rows),
            "pageIndex": .int64(page), "fullName": .string(criteria[SearchCriteria.fullName.text]?.stringValue ?? ""),
        ]
        let (answer, age) = try await answer(to: asked, for: caller)
        // A list that is empty may be left out.
        let employees = answer[SOAPSearch.listName] ?? (exchange.isSOAP ? [] : .null)
        guard let employees = employees.arrayValue, employees.count <= Int(rows) else {
            throw MirrorRefusal(.unexpected, "the answer has no list of employees, or more than were asked for")
        }
        let fitting = employees.compactMap(Self.employee)
        guard !fitting.isEmpty || employees.isEmpty else {
            throw MirrorRefusal(.unexpected, "none of the employees has the contract's members")
        }
        // At least as many as there are up to here, whatever is said.
        let here = employees.isEmpty ? 0 : page * rows + Int64(employees.count)
        let total = max(here, answer[SOAPSearch.totalName]?.int64Value ?? here)
        return .value(
            .dictionary([
                EmployeeOperations.employees.text: .array(fitting), EmployeeOperations.totalRows.text: .int64(total),
                SearchCriteria.pageIndex.text: .int64(page), SearchCriteria.rowsPerPage.text: .int64(rows),
            ]), age: age)
    }

    /// The contract's members, and no others; what is left out or null is empty. Nil for one that does not fit.
    private static func employee(_ value: WireValue) -> WireValue? {
        guard let members = value.dictionaryValue else { return nil }
        var employee = WireDictionary()
        for field in Employees.contractFields {
            let member = members[field.text] ?? .null
            employee[field.text] = member.isNull ? "" : member
        }
        return (try? Shape.object(Employees.shape).check(.dictionary(employee), at: "")) == nil
            ? nil : .dictionary(employee)
    }

    /// `caller`: in whose name it is asked, where the upstream wants one; `deadline`: nil: the upstream's own.
    private func answer(
        to criteria: WireValue, for caller: Principal?, within deadline: Duration? = nil
    ) async throws -> (members: WireDictionary, age: Duration) {
        guard let address = upstream.url.resolving(path) else {
            throw PorticoError(.upstreamFailed, "The system \(upstream.name) could not be asked.", logDetail: "no path")
        }
        var request = UpstreamRequest(.post, address)
        request.isIdempotent = true
        request.deadline = deadline
        switch exchange {
        case .json: return try await answer(json: criteria, request, for: caller)
        case .soap(let search, let tokens):
            return try await answer(to: criteria, of: search, tokens, request, for: caller)
        }
    }

    private func answer(
        json criteria: WireValue, _ request: UpstreamRequest, for caller: Principal?
    ) async throws -> (members: WireDictionary, age: Duration) {
        var request = request
        request.fields = ["Content-Type": "application/json", "Accept": "application/json"]
        request.body = try JSONFormat().write(criteria)
        let response = try await send(request, for: caller)
        let body = try response.document(Self.mediaTypes, of: upstream.name)
        let value: WireValue
        do { value = try JSONFormat().read(body) } catch { throw MirrorRefusal(.malformed, "the answer is no JSON") }
        guard let members = value.dictionaryValue else {
            throw MirrorRefusal(.unexpected, "the answer is no dictionary")
        }
        // A failure of the contract, whatever the status.
        guard members["errorCode"]?.isNull ?? true else { throw failure("it answered an error code") }
        return (members, response.age)
    }

    private func answer(
        to criteria: WireValue, of search: SOAPSearch, _ tokens: SOAPTokens, _ request: UpstreamRequest,
        for caller: Principal?
    ) async throws -> (members: WireDictionary, age: Duration) {
        let operation = search.operation
        var request = request
        do {
            request.body = try operation.request(
                search.value(of: criteria), search.schema, security: search.security.map(tokens.token))
        } catch {
            throw PorticoError(
                .requestInvalid, "The system \(upstream.name) cannot be asked for this.", logDetail: error.message)
        }
        let type = operation.version.mediaType
        request.fields = UpstreamHeaders(operation.fields + [("Accept", type)])
        var response = try await send(request, for: caller)
        // Faults have a status of failure, and say more than it. One with a status of success is a failure too.
        let charset = Self.charset(of: response)
        if !response.isSuccess, let fault = try? SOAPMessage(response.body, charset: charset).fault {
            throw failure("\(request.address.logged) answered \(response.status), a fault \(fault.code.rawValue)")
        }
        if response.fields["Content-Type"]?.lowercased().hasPrefix("application/xml") == true {
            response = UpstreamResponse(
                address: response.address, status: response.status, fields: ["Content-Type": type], body: response.body)
        }
        let document = try response.document([type], of: upstream.name)
        let message: SOAPMessage
        do { message = try SOAPMessage(document, charset: charset) } catch {
            throw MirrorRefusal(.malformed, "the answer is no SOAP message: \(error.code.rawValue)")
        }
        if let fault = message.fault { throw failure("it answered a fault \(fault.code.rawValue)") }
        return (try search.readResponse(message), response.age)
    }

    private static func charset(of response: UpstreamResponse) -> String? {
        response.fields["Content-Type"].flatMap { MediaType($0) }?.charset
    }

    private func failure(_ detail: String) -> PorticoError {
        PorticoError(.upstreamFailed, "The system \(upstream.name) could not be asked.", logDetail: detail)
    }

    private func send(_ request: UpstreamRequest, for caller: Principal?) async throws -> UpstreamResponse {
        let response = try await upstream.send(request, for: caller)
        // In a caller's name that is the answer to this caller, not a failure of the system.
        guard !(upstream.actsForCallers && [401, 403].contains(response.status)) else {
            throw PorticoError(.accessDenied, "The system \(upstream.name) does not let you do this.")
        }
        return response
    }

    /// The number of employees that there are said to be; nil: it does not say. `known`: what the pages before said.
    private func total(of answer: WireDictionary, since known: Int64?) throws -> Int64? {
        guard let told = answer[SOAPSearch.totalName], !told.isNull else { return nil }
        guard let total = told.int64Value, total >= 0 else {
            throw MirrorRefusal(.malformed, "the answer's number of all employees is none")
        }
        guard known == nil || known == total else {
            // A page would lack an employee who is still there, or have one twice.
            throw PorticoError(
                .upstreamFailed, "The system \(upstream.name) could not be asked.",
                logDetail: "the number of employees changed while they were read")
        }
        return total
    }

    /// The other system may answer fewer rows a page than are asked for, if it says so.
    private func hasMore(
        after index: Int64, count: Int64, _ answer: WireDictionary, of total: Int64?
    ) throws(MirrorRefusal) -> Bool {
        let isPaged = if case .soap(let search, _) = exchange { search.isPaged } else { true }
        guard isPaged else {
            guard total.map({ $0 == count }) ?? true else {
                throw MirrorRefusal(.malformed, "the answer has another number of employees than it says")
            }
            return false
        }
        let most = answer[SearchCriteria.rowsPerPage.text]?.int64Value ?? Self.rowsPerPage
        guard let total else { return count >= most && count > 0 }
        let (before, overflow) = index.multipliedReportingOverflow(by: max(0, most))
        guard !overflow, before <= total, count <= total - before else {
            throw MirrorRefusal(.malformed, "the answer has more employees than it says")
        }
        guard total - before > count else { return false }
        guard count == most else { throw MirrorRefusal(.malformed, "the answer has fewer employees than it says") }
        return true
    }

    /// Which page is next, how many employees there were said to be, and the fingerprint of the last page.
    private struct PagePlace {
        let index: Int64
        let total: Int64?
        let content: String?

        init(index: Int64, total: Int64?, content: String?) {
            self.index = index
            self.total = total
            self.content = content
        }

        init?(_ text: String) {
            let parts = text.split(separator: " ", omittingEmptySubsequences: false)
            guard parts.count == 3, let index = Int64(parts[0]) else { return nil }
            self.init(index: index, total: Int64(parts[1]), content: parts[2].isEmpty ? nil : String(parts[2]))
        }

        var text: String { "\(index) \(total.map { String($0) } ?? "") \(content ?? "")" }
    }

    private static func row(_ employee: WireDictionary) -> WireDictionary {
        var row = employee
        let address = employee[Employees.email.text]?.stringValue?.lowercased() ?? ""
        let key =
            address.isEmpty
            ? fingerprint(text(of: employee))
            : address.utf8.count <= longestKey ? address : fingerprint(address)
        row[Employees.id.text] = .string(key)
        return row
    }

    private static func text(of employee: WireDictionary) -> String {
        Employees.contractFields.map { employee[$0.text]?.stringValue ?? "" }.joined(separator: "\n")
    }

    /// Bytes that the key's field takes at most.
    private static let longestKey = 40

    /// Two runs of FNV-1a, 128 bits together.
    private static func fingerprint(_ text: String) -> String {
        var (first, second) = (UInt64(0xcbf2_9ce4_8422_2325), UInt64(0x8422_2325_cbf2_9ce4))
        for byte in text.utf8 {
            first = (first ^ UInt64(byte)) &* 0x100_0000_01b3
            second = (second ^ UInt64(byte)) &* 0x100_0000_01b3 &+ 1
        }
        return [first, second].map { number in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: max(0, 16 - digits.utf8.count)) + digits
        }.joined()
    }
}

/// Makes the tokens that name the gateway to a SOAP service.
struct SOAPTokens: Sendable {
    let clock: any WallClock
    /// So many random bytes.
    let random: @Sendable (_ count: Int) -> [UInt8]

    init(
        clock: any WallClock,
        random: @escaping @Sendable (_ count: Int) -> [UInt8] = { count in
            (0..<count).map { _ in UInt8.random(in: .min ... .max) }
        }
    ) {
        self.clock = clock
        self.random = random
    }

    func token(_ security: SOAPSearch.Security) -> UsernameToken {
        UsernameToken(
            security.username, security.password, security.kind, nonce: random(UsernameToken.nonceLength),
            created: clock.now())
    }
}
