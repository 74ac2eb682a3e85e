import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// Writes results of functions of other systems.
struct CalledResultWriter: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    /// Nil where an adapter of this gateway performs the operation.
    func result(of call: OperationCall, _ suffix: ResourcePath.Suffix) async throws -> CalledResult? {
        let runner = handler.runner
        guard let asked = runner.asked,
            handler.service.asked(for: ResourcePath(target: .operation(call), suffix: suffix)) != nil
        else { return nil }
        let base: (EntityQuery.Base, RecordTable)? =
            switch call.binding {
            case .none: nil
            case .entity(let path): (try await runner.base(path), path.table)
            case .entities(let path): (try await runner.base(path), path.table)
            }
        return try await asked.sets.result(
            of: call, suffix, at: base, request.target.options, runner, for: asked.request)
    }

    func answer(_ result: CalledResult, _ suffix: ResourcePath.Suffix) async throws -> MountResponse {
        let context = ContextFragment(options: request.target.options, version: request.format.version)
        switch result {
        case .nothing: return handler.responses.nothing()
        case .value(let value, let function):
            guard let type = function.result else { return handler.responses.nothing() }
            return OperationResultWriter(handler).value(value, type, suffix)
        case .count(let count):
            return handler.responses.text(Array(String(count).utf8), type: "text/plain;charset=utf-8")
        case .entity(let row, let shape, let table):
            let path = EntityPath(table: table, type: table.type, origin: .key(RecordID(unchecked: table.source)))
            var headers: MountHeaders = [:]
            headers["ETag"] = RowIdentity(tables: handler.tables).tag(row, shape)
            return handler.responses.json(
                handler.writer.entity(row, shape, context: context.entity(path)), headers: headers)
        case .entities(let page, let table):
            let fragment = context.collection(EntityCollectionPath(table: table, type: table.type, origin: .all))
            let (writer, rows) = (handler.writer, RowWriter(page.shape, handler.tables, request.format))
            let body = try await handler.documents.body { _, sink in
                var output = JSONOutput(to: sink)
                writer.begin(fragment, count: page.count, to: &output)
                rows.write(page.held, with: writer, to: &output)
                writer.end(nil, to: &output)
                try output.flush()
            }
            return handler.responses.json(body)
        }
    }
}
