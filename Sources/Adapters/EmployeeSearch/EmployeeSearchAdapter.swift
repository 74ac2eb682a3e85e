import AdapterKit

/// Answers searches from the records. Nothing of what is searched for is logged: names are personal data.
struct EmployeeSearchAdapter: Adapter {
    func handle(_ call: Call) async throws -> OperationResult {
        switch call.operation {
        case EmployeeOperations.search.name: try await search(call)
        case RecordImport.name: try await EmployeeOperations.loading.perform(call, on: call.records)
        default: throw PorticoError(.routeNotFound, "There is no such operation.", target: call.operation.text)
        }
    }

    func sampleRecords() -> [SampleRecords] {
        [SampleRecords(Employees.entity.name, SampleEmployees().records)]
    }

    private func search(_ call: Call) async throws -> OperationResult {
        let criteria = try SearchCriteria(call.input)
        let page = try await call.records.query(criteria.query, in: Employees.entity.name)
        return .value(
            .dictionary([
                EmployeeOperations.employees.text: .array(page.records.map(Employees.told)),
                EmployeeOperations.totalRows.text: .int64(Int64(page.total ?? 0)),
                SearchCriteria.pageIndex.text: .int64(criteria.page),
                SearchCriteria.rowsPerPage.text: .int64(criteria.rows),
            ]))
    }
}
