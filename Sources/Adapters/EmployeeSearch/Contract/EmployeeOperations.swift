import AdapterKit

/// The interface `OrganizationInterface` of the contract. Its SOAP binding is to come; the operation stays the same.
enum EmployeeOperations {
    static let all = [search, loading.operation]

    /// A read, although it is posted: the criteria are a body. The answer depends on them and the records alone.
    static let search = Operation(
        "employeeSearch", summary: "A page of the employees that meet the criteria, by division.", effect: .reads,
        input: SearchCriteria.shape, output: .object(page), caching: .untilRecordsChange,
        bindings: [
            HTTPBinding(.post, "/OrganizationInterfaceImplMobile/employeeSearch", presentation: presentation),
            HTTPBinding(
                .post, "/iPhoneServicesModuleWeb/OrganizationInterfaceImplMobile/employeeSearch",
                presentation: presentation),
        ])

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
