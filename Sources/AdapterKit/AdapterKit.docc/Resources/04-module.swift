import AdapterKit
import Synchronization

/// The adapter's name, what it offers, and how one is made.
public enum TasksModule: AdapterModule {
    public static let name: AdapterName = "tasks"

    public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: "Tasks", summary: "Things to be done.", version: "0.2.0", entities: [Item.entity],
            operations: [Finish.operation])
    }

    public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter { Tasks() }
}

final class Tasks: Adapter {
    private let records = Mutex<(any RecordStore)?>(nil)

    func start(_ context: AdapterContext) { records.withLock { $0 = context.records } }

    func handle(_ call: Call) async throws -> OperationResult {
        guard let own = records.withLock({ $0 }) else {
            throw PorticoError(.adapterUnavailable, "The adapter has not started.", retryAfter: 1)
        }
        switch call.operation {
        case Finish.operation.name: return .value(try await Finish.run(call, own: own))
        default: throw PorticoError(.routeNotFound, "There is no operation \(call.operation).")
        }
    }

    func frontPageEntries() async throws -> [FrontPageEntry] {
        [FrontPageEntry(title: "Tasks", path: "/api/v1/tasks/items", summary: "Things to be done.")]
    }
}
