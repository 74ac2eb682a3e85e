import AdapterKit

/// Reading and writing notes needs no code: the declaration of ``Note`` is enough. What is left are the operations.
struct NotesAdapter: Adapter {
    func handle(_ call: Call) async throws -> OperationResult {
        switch call.operation {
        case Share.operation.name: .value(try await Share(call).run(on: call.records))
        default: throw PorticoError(.routeNotFound, "There is no operation \(call.operation).")
        }
    }

    func frontPageEntries() async throws -> [FrontPageEntry] {
        [
            FrontPageEntry(
                title: "Notes", path: "/api/v1/notes/notes", summary: "One's own notes and those that others share.")
        ]
    }
}
