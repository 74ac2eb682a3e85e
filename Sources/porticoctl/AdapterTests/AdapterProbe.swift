import ValueTree
import WireFormats

/// Conformance by the outside: calls an adapter as its callers do, and compares the answers with what it declares.
struct AdapterProbe {
    let gateway: TrialGateway
    let adapter: TriedAdapter
    let fixtures: AdapterFixtures
    /// Calls that only read and that the program answered.
    private(set) var reads: [AdapterFixtures.Call] = []

    init(gateway: TrialGateway, adapter: TriedAdapter, fixtures: AdapterFixtures) {
        self.gateway = gateway
        self.adapter = adapter
        self.fixtures = fixtures
    }

    /// One of `/openapi.json`.
    private struct Described {
        let method: String
        let path: String
        let operation: WireValue
        let document: WireValue

        var isRead: Bool { operation["x-portico-effect"] == "reads" }

        /// Whether it can be called without an input.
        var needsNothing: Bool {
            let parameters = operation["parameters"]?.arrayValue ?? []
            guard !parameters.contains(where: { $0["required"] == true }) else { return false }
            guard let body = operation["requestBody"] else { return true }
            var schema = body["content"]?["application/json"]?["schema"] ?? .null
            while let reference = schema["$ref"]?.stringValue {
                schema = reference.split(separator: "/").dropFirst().reduce(document) { $0[String($1)] ?? .null }
            }
            return schema["required"]?.arrayValue?.isEmpty ?? true
        }

        /// `{name}` of the path may be any segment, and its last one the rest.
        func describes(_ call: AdapterFixtures.Call) -> Bool {
            let path = call.path.prefix { $0 != "?" }.split(separator: "/")
            let own = self.path.split(separator: "/")
            guard method == call.method, path.count >= own.count else { return false }
            guard path.count == own.count || own.last?.hasPrefix("{") == true else { return false }
            return zip(own, path).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
        }
    }

    mutating func check(_ report: inout CheckReport) async throws {
        report.progress("conformance of \(adapter.name)")
        for mirror in adapter.mirrors { try await refresh(mirror, &report) }
        let described = try await describeOperations()
        let calls = fixtures.calls(of: adapter.name)
        for call in calls { await check(call, described.first { $0.describes(call) }, isFixture: true, &report) }
        let others = described.filter { one in one.needsNothing && !calls.contains { one.describes($0) } }
        for one in others {
            let call = AdapterFixtures.Call(
                method: one.method, path: one.path, body: one.operation["requestBody"] == nil ? nil : [:], status: nil,
                answer: nil)
            await check(call, one, isFixture: false, &report)
        }
        for one in described where !one.needsNothing && !calls.contains(where: { one.describes($0) }) {
            report.noteSkipped("\(one.method) \(one.path)", "fixtures/calls.json has no call of it")
        }
        for entity in adapter.entities { report.check("entity \(entity)", await problem(of: entity)) }
    }

    /// The adapter's operations: what callers may call but its entities.
    private func describeOperations() async throws -> [Described] {
        guard let document = await gateway.send("GET", "/openapi.json?formats=all").value else {
            throw CommandError("The gateway does not describe itself.")
        }
        let entities = adapter.entities.map { "/api/v1/\(adapter.name)/\($0)" }
        var found: [Described] = []
        for path in document["paths"]?.dictionaryValue ?? [:] {
            guard !entities.contains(where: { path.key == $0 || path.key.hasPrefix("\($0)/") }) else { continue }
            for method in path.value.dictionaryValue ?? [:] where method.value["x-portico-adapter"] != nil {
                guard method.value["x-portico-adapter"]?.stringValue == adapter.name else { continue }
                found.append(
                    Described(
                        method: method.key.uppercased(), path: path.key, operation: method.value, document: document))
            }
        }
        return found
    }

    private mutating func check(
        _ call: AdapterFixtures.Call, _ described: Described?, isFixture: Bool, _ report: inout CheckReport
    ) async {
        let answer = await gateway.send(call.method, call.path, call.body)
        let problem = problem(of: answer, to: call, described)
        let name = "\(call.method) \(call.path)" + (isFixture ? " of the fixtures" : "")
        if let problem { return report.check(name, problem) }
        report.notePassed(name, answer.summary)
        // Of a mounted path no effect is declared: its method says it (RFC 9110, section 9.2.1).
        let isRead = described?.isRead == true || ["GET", "HEAD"].contains(call.method)
        guard isRead, answer.status < 400 else { return }
        reads.append(call)
        guard (described?.operation["responses"]?["200"]?["content"]?.dictionaryValue?.count ?? 0) > 1 else { return }
        for format in FormatCatalogue.standard.formats where format.name != .json {
            let other = await gateway.send(
                call.method, call.path, call.body, accept: format.mediaTypeWritten.description)
            let isDocument = other.status == answer.status && (other.value != nil || other.bytes.isEmpty)
            report.check("\(name) as \(format.name)", isDocument ? nil : "it is answered with \(other.summary)")
        }
    }

    private func problem(
        of answer: TrialGateway.Answer, to call: AdapterFixtures.Call, _ described: Described?
    ) -> String? {
        if let status = call.status, answer.status != status { return "\(answer.summary) instead of \(status)" }
        if answer.status == 0 { return "the gateway has not answered" }
        if answer.status >= 400 { return call.status == nil ? problem(ofError: answer) : nil }
        if let wanted = call.answer {
            guard let value = answer.value, Self.has(value, wanted) else {
                let text = String(decoding: answer.bytes.prefix(500), as: UTF8.self)
                return "the answer lacks what the fixture has: \(text)"
            }
        }
        guard let described, answer.type == "application/json",
            let schema = described.operation["responses"]?["\(answer.status)"]?["content"]?["application/json"]?[
                "schema"]
        else { return nil }
        guard let value = answer.value else { return "the answer is no JSON" }
        return SchemaCheck(document: described.document).problem(value, schema)
    }

    /// Of an error that no fixture asks for: a refusal is the adapter's right, a failure is its fault.
    private func problem(ofError answer: TrialGateway.Answer) -> String? {
        guard answer.status >= 500, ![502, 503, 504].contains(answer.status) else { return nil }
        let request = answer.value?["error"]?["requestId"]?.stringValue
        let line = request.flatMap { gateway.log(with: [$0]) }.map { "; the log says \($0)" } ?? ""
        return answer.summary + line
    }

    /// Whether a value has at least the members of another, at every depth.
    private static func has(_ value: WireValue, _ wanted: WireValue) -> Bool {
        switch (value, wanted) {
        case (.dictionary(let members), .dictionary(let wanted)):
            wanted.allSatisfy { member in members[member.key].map { has($0, member.value) } ?? false }
        case (.array(let items), .array(let wanted)):
            items.count == wanted.count && zip(items, wanted).allSatisfy { has($0, $1) }
        default: value == wanted || (value.doubleValue != nil && value.doubleValue == wanted.doubleValue)
        }
    }

    // MARK: Entities and mirrors

    private func refresh(_ mirror: String, _ report: inout CheckReport) async throws {
        let path = "/admin/v1/mirrors/\(adapter.name.asPathSegment)/\(mirror.asPathSegment)"
        let name = "mirror \(mirror)"
        do {
            try await gateway.administration.post(adapter.refreshPath(mirror), [:])
        } catch let error as CommandError {
            return report.noteSkipped(name, "not refreshed: \(error.message)")
        }
        let shown = try await gateway.administration.get(path)
        let failure = shown["failure"]
        guard let code = failure?["code"]?.stringValue else {
            return report.notePassed(name, "\(shown["records"]?.int64Value ?? 0) records")
        }
        let reason = "not refreshed: \(code): \(failure?["detail"]?.stringValue ?? "")"
        let isReplayed = fixtures.replayed.contains(shown["upstream"]?.stringValue ?? "")
        if isReplayed { report.check(name, reason) } else { report.noteSkipped(name, reason) }
    }

    /// Its list and its first record are answered in every wire format.
    private func problem(of entity: String) async -> String? {
        let path = "/api/v1/\(adapter.name)/\(entity)"
        var key: String?
        var count: Int?
        for format in FormatCatalogue.standard.formats {
            let list = await gateway.send("GET", path, accept: format.mediaTypeWritten.description)
            if let refusal = Self.refusal(list) {
                guard refusal.isEmpty else { return "its list as \(format.name): \(refusal)" }
                continue
            }
            guard let items = list.value?["items"]?.arrayValue else {
                return "its list as \(format.name) is no document with items"
            }
            if count == nil { (count, key) = (items.count, await self.key(of: entity, items.first)) }
            guard items.count == count else {
                return "its list as \(format.name) has \(items.count) items and not \(count ?? 0)"
            }
            guard let key else { continue }
            let record = await gateway.send(
                "GET", "\(path)/\(key.asPathSegment)", accept: format.mediaTypeWritten.description)
            if let refusal = Self.refusal(record) { return "\(key) as \(format.name): \(refusal) \(record.summary)" }
            guard record.value?.dictionaryValue != nil else { return "\(key) as \(format.name) is no document" }
        }
        return nil
    }

    /// Empty for an answer that says that it cannot be given now or to this caller; nil for a success.
    private static func refusal(_ answer: TrialGateway.Answer) -> String? {
        if answer.status == 200 { return nil }
        return answer.code != nil && [401, 403, 502, 503, 504].contains(answer.status) ? "" : answer.summary
    }

    private func key(of entity: String, _ record: WireValue?) async -> String? {
        guard let record else { return nil }
        let shown = try? await gateway.administration.get("/admin/v1/adapters/\(adapter.name.asPathSegment)")
        let described = shown?["entities"]?.arrayValue?.first { $0["name"]?.stringValue == entity }
        let value = described?["key"]?.stringValue.flatMap { record[$0] }
        return value?.stringValue ?? value?.int64Value.map { String($0) }
    }

    // MARK: Upstreams that fail

    /// Refreshes and reads, over and over. Answers may fail as the registry has it for systems that fail; what is answered is
    /// of the declared shape, and the program lives.
    func problemWhileUpstreamsFail(_ rounds: Int) async throws -> String? {
        let described = try await describeOperations()
        var calls = fixtures.calls(of: adapter.name).map { call in
            AdapterFixtures.Call(
                method: call.method, path: call.path, body: call.body, status: nil, answer: nil)
        }
        calls += described.filter(\.needsNothing).map {
            AdapterFixtures.Call(
                method: $0.method, path: $0.path, body: $0.operation["requestBody"] == nil ? nil : [:], status: nil,
                answer: nil)
        }
        let before = try await gateway.administration.get("/admin/v1/adapters/\(adapter.name.asPathSegment)")
        for _ in 0..<rounds {
            for mirror in adapter.mirrors {
                _ = try? await gateway.administration.post(adapter.refreshPath(mirror), [:])
            }
            for call in calls {
                let answer = await gateway.send(call.method, call.path, call.body)
                if let problem = problem(of: answer, to: call, described.first { $0.describes(call) }) {
                    return "\(call.method) \(call.path): \(problem)"
                }
            }
            for entity in adapter.entities {
                if let problem = await problem(of: entity) { return "entity \(entity): \(problem)" }
            }
        }
        let after = try await gateway.administration.get("/admin/v1/adapters/\(adapter.name.asPathSegment)")
        let crashes = [before, after].map { $0["process"]?["crashes"]?.int64Value ?? 0 }
        return crashes[0] == crashes[1] ? nil : "the program has crashed \(crashes[1] - crashes[0]) times"
    }
}
