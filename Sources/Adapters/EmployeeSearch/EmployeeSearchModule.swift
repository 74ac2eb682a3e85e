import AdapterKit
import Synchronization

/// Finding employees as the mobile contract asks for it (docs/adapters/employees.md), and as an entity.
public enum EmployeeSearchModule: AdapterModule {
    public static let name: AdapterName = "employees"

    public static let options =
        CallThrough.options + [
            ConfigurationOption(
                "protocol", .choice(["json", "soap"]),
                summary:
                    "What the upstream speaks: the contract's search in JSON (`json`, the default), or the service of `wsdl`."
            ),
            ConfigurationOption(
                "path", .string,
                summary:
                    "Where the upstream's search is; as in the contract, or with `protocol: soap` as in the WSDL, where it is left out."
            ),
        ] + SOAPSearch.options

    public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        let mirror = try MirrorSource(
            Employees.entity.name, configuration, supportsRowsOfCallers: true, keys: ["protocol", "path"])
        let callThrough = try CallThrough(configuration)
        let isLocal = mirror == nil && callThrough == nil
        _ = try SOAPSearch(configuration, asksEachTime: callThrough != nil)
        return AdapterDeclaration(
            name: name, title: "Employees", summary: "Who works where, found by name and division.", version: "1.0",
            // What is asked each time is no record.
            entities: callThrough == nil ? [Employees.entity] : [],
            operations: [EmployeeOperations.search(callThrough)]
                + (isLocal ? [EmployeeOperations.loading.operation] : []),
            mirrors: mirror.map { [$0] } ?? [], soapServices: [EmployeeOperations.soap])
    }

    public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter {
        let asksEachTime = try CallThrough(configuration) != nil
        return EmployeeSearchAdapter(
            isLocal: configuration["upstream"] == nil, asksEachTime: asksEachTime,
            path: configuration["path"]?.stringValue,
            soap: try SOAPSearch(configuration, asksEachTime: asksEachTime))
    }
}

/// Answers searches from the records, or by asking the other system each time (``asksEachTime``). Nothing of what
/// is searched for is logged: names are personal data.
final class EmployeeSearchAdapter: Adapter {
    private let isLocal: Bool
    private let asksEachTime: Bool
    private let path: String?
    private let soap: SOAPSearch?
    private let running = Mutex<EmployeeSource?>(nil)

    init(isLocal: Bool, asksEachTime: Bool, path: String?, soap: SOAPSearch?) {
        self.isLocal = isLocal
        self.asksEachTime = asksEachTime
        self.path = path
        self.soap = soap
    }

    func start(_ context: AdapterContext) {
        guard let upstream = context.upstream else { return }
        let source = EmployeeSource(
            upstream: upstream, path: path ?? soap?.path ?? EmployeeSource.defaultPath,
            exchange: soap.map { .soap($0, SOAPTokens(clock: context.clock)) } ?? .json)
        running.withLock { $0 = source }
    }

    func readMirror(_ request: MirrorRequest) async throws -> MirrorPage { try await source().page(request) }

    private func source() throws -> EmployeeSource {
        guard let source = running.withLock({ $0 }) else {
            throw PorticoError(.adapterUnavailable, "No upstream is configured.")
        }
        return source
    }

    func handle(_ call: Call) async throws -> OperationResult {
        switch call.operation {
        case EmployeeOperations.searchName where asksEachTime:
            try await source().search(call.input, for: call.caller)
        case EmployeeOperations.searchName: try await search(call)
        case RecordImport.name: try await EmployeeOperations.loading.perform(call, on: call.records)
        default: throw PorticoError(.routeNotFound, "There is no such operation.", target: call.operation.text)
        }
    }

    func sampleRecords() -> [SampleRecords] {
        isLocal ? [SampleRecords(Employees.entity.name, SampleEmployees().records)] : []
    }

    private func search(_ call: Call) async throws -> OperationResult {
        let criteria = try SearchCriteria(call.input)
        let page = try await call.records.query(criteria.query, in: Employees.entity.name)
        return .value(
            .dictionary([
                EmployeeOperations.employees.text: .array(page.records.map(Employees.value)),
                EmployeeOperations.totalRows.text: .int64(Int64(page.total ?? 0)),
                SearchCriteria.pageIndex.text: .int64(criteria.page),
                SearchCriteria.rowsPerPage.text: .int64(criteria.rows),
            ]))
    }
}

/// The interface `OrganizationInterface` of the contract.
enum EmployeeOperations {
    static let searchName: OperationName = "employeeSearch"

    /// A read, although it is posted: the criteria are a body. The answer depends on them and the records alone, or on
    /// them and the other system.
    static func search(_ callThrough: CallThrough?) -> Operation {
        Operation(
            searchName, summary: "A page of the employees that meet the criteria, by division.", effect: .reads,
            input: SearchCriteria.shape, output: .object(page),
            caching: callThrough == nil ? .untilRecordsChange : .noStore, callThrough: callThrough,
            bindings: [
                HTTPBinding(.post, "/OrganizationInterfaceImplMobile/employeeSearch", presentation: presentation),
                HTTPBinding(
                    .post, "/iPhoneServicesModuleWeb/OrganizationInterfaceImplMobile/employeeSearch",
                    presentation: presentation),
            ])
    }

    /// The same search over SOAP.
    static let soap = SOAPService(
        "OrganizationInterface", namespace: "http://iPhoneServices/OrganizationInterface",
        paths: [
            "/iPhoneServicesModuleWeb/sca/OrganizationInterfaceExport", "/sca/OrganizationInterfaceExport",
        ], operations: [searchName])

    /// Loads employees of one's own.
    static let loading = RecordImport(Employees.entity)

    static let employees: FieldName = "employees"
    static let totalRows: FieldName = "totalRows"

    private static let page = ObjectShape(
        "PageOfEmployeeBO",
        members: [
            Member(employees, .list(of: .object(Employees.shape)), isRequired: true),
            Member(totalRows, .integer, isRequired: true, summary: "How many employees meet the criteria in all."),
            Member(SearchCriteria.pageIndex, .integer, isRequired: true, summary: "This page, from 0."),
            Member(SearchCriteria.rowsPerPage, .integer, isRequired: true, summary: "At most that many employees."),
        ])

    /// The contract's clients look for an error code in the body.
    private static let presentation = Presentation(errors: .flat(code: "errorCode", message: "errorMessage"))
}
