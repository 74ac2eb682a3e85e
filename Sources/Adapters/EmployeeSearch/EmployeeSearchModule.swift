import AdapterKit

/// Finding employees as the mobile contract asks for it (docs/adapters/employees.md), and as an entity.
public enum EmployeeSearchModule: AdapterModule {
    public static let name: AdapterName = "employees"

    public static func declare(_ configuration: AdapterConfiguration) -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: "Employees", summary: "Who works where, found by name and division.", version: "1.0",
            entities: [Employees.entity], operations: EmployeeOperations.all)
    }

    public static func make(_ configuration: AdapterConfiguration) -> any Adapter {
        EmployeeSearchAdapter()
    }
}
