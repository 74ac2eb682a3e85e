import AdapterKit
import WireFormats

/// Employees of a system that answers the contract's search in JSON: asked for every employee, page by page.
///
/// The contract gives an employee no key. The key is the e-mail address where it is short enough, else made of all
/// fields: an employee without an address who changes is another employee.
struct EmployeeSource: Sendable {
    static let defaultPath = "OrganizationInterfaceImplMobile/employeeSearch"
    private static let mediaTypes: Set<String> = ["application/json"]
    private static let rowsPerPage = SearchCriteria.maximumRowsPerPage

    let upstream: any Upstream
    let path: String

    func page(_ request: MirrorRequest) async throws -> MirrorPage {
        let index = request.page.flatMap { Int64($0) } ?? 0
        let answer = try await answer(at: index)
        guard let employees = answer["employees"]?.arrayValue else {
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
        return MirrorPage(rows, next: try next(after: index, count: Int64(rows.count), answer))
    }

    private func answer(at index: Int64) async throws -> WireDictionary {
        guard let address = upstream.url.resolving(path) else {
            throw PorticoError(.upstreamFailed, "The system \(upstream.name) could not be asked.", logDetail: "no path")
        }
        let criteria: WireValue = [
            "division": "", "order": "ASC", "rowsPerPage": .int64(Self.rowsPerPage), "pageIndex": .int64(index),
            "fullName": "",
        ]
        var request = UpstreamRequest(
            .post, address, fields: ["Content-Type": "application/json", "Accept": "application/json"],
            body: try JSONFormat().write(criteria))
        request.isIdempotent = true
        let body = try await upstream.send(request).document(Self.mediaTypes, of: upstream.name)
        let value: WireValue
        do { value = try JSONFormat().read(body) } catch { throw MirrorRefusal(.malformed, "the answer is no JSON") }
        guard let members = value.dictionaryValue else {
            throw MirrorRefusal(.unexpected, "the answer is no dictionary")
        }
        // A failure of the contract, whatever the status.
        guard members["errorCode"]?.isNull ?? true else {
            throw PorticoError(
                .upstreamFailed, "The system \(upstream.name) could not be asked.",
                logDetail: "it answered an error code")
        }
        return members
    }

    /// The other system may answer fewer rows a page than are asked for, if it says so.
    private func next(after index: Int64, count: Int64, _ answer: WireDictionary) throws -> String? {
        let most = answer["rowsPerPage"]?.int64Value ?? Self.rowsPerPage
        guard let total = answer["totalRows"]?.int64Value else { return count < most ? nil : String(index + 1) }
        let (before, overflow) = index.multipliedReportingOverflow(by: max(0, most))
        guard !overflow, before <= total, total - before > count else { return nil }
        guard count == most else { throw MirrorRefusal(.malformed, "the answer has fewer employees than it says") }
        return String(index + 1)
    }

    private static func row(_ employee: WireDictionary) -> WireDictionary {
        var row = employee
        let address = employee[Employees.email.text]?.stringValue?.lowercased() ?? ""
        let key =
            address.isEmpty
            ? fingerprint(Employees.contractFields.map { employee[$0.text]?.stringValue ?? "" }.joined(separator: "\n"))
            : address.utf8.count <= longestKey ? address : fingerprint(address)
        row[Employees.id.text] = .string(key)
        return row
    }

    /// What the key's field takes, in bytes at most.
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
