import AdapterKit

/// What every source of a mirror has to keep, tried on one whose other system is a function.
///
/// ```swift
/// let conformance = MirrorConformance(UsersModule.self, "users", configuration: ["upstream": "hr"]) { request, _ in … }
/// #expect(await conformance.problems() == [])
/// ```
/// The function answers as the other system does when all is well. The suite puts faults in front of it.
public struct MirrorConformance: Sendable {
    /// An answer that lies, and what it is in words.
    private struct Lie: Sendable {
        let words: String
        let answer: @Sendable (UpstreamResponse) -> UpstreamResponse
    }

    private let module: any AdapterModule.Type
    private let entity: EntityName
    private let configuration: AdapterConfiguration
    private let url: UpstreamAddress
    private let answer: ScriptedUpstream.Answer

    /// `url`: where the other system is; ends in a slash.
    public init(
        _ module: any AdapterModule.Type, _ entity: EntityName, configuration: WireDictionary,
        url: UpstreamAddress = UpstreamAddress("https://upstream.example/")!,
        answer: @escaping ScriptedUpstream.Answer
    ) {
        self.module = module
        self.entity = entity
        self.configuration = AdapterConfiguration(configuration)
        self.url = url
        self.answer = answer
    }

    /// Empty for a source that keeps them all.
    public func problems() async -> [String] {
        do {
            let declaration = try module.declare(configuration)
            guard declaration.mirror(of: entity) != nil, let entity = declaration.entity(entity) else {
                return ["\(entity) is declared as no mirror"]
            }
            let rows = try await rows(answer)
            var problems = try rowProblems(rows, of: entity)
            if try await self.rows(answer) != rows { problems.append("two reads of the same rows differ") }
            for lie in Self.lies { problems += await liarProblems(lie) }
            problems += await failureProblems()
            return problems
        } catch {
            return ["the rows cannot be read: \(error)"]
        }
    }

    private func rows(_ answer: @escaping ScriptedUpstream.Answer) async throws -> [WireDictionary] {
        let host = try await TestHost(
            module, configuration, upstream: ScriptedUpstream(name: "upstream", url: url, answer: answer))
        return try await host.rows(of: entity)
    }

    private func rowProblems(_ rows: [WireDictionary], of entity: Entity) throws -> [String] {
        var problems: [String] = []
        let rules = try EntityRules(entity)
        var keys: Set<RecordID> = []
        if rows.isEmpty { problems.append("there are no rows to look at") }
        for row in rows {
            do {
                let authorship = Authorship(
                    author: Principal.system.name, time: WireDate(secondsSinceReferenceDate: 0), position: Revision(0))
                guard let id = try rules.create(nil, row, authorship).id else {
                    problems.append("a row has no key")
                    continue
                }
                if !keys.insert(id).inserted { problems.append("two rows have the key \(id)") }
            } catch {
                problems.append("a row is no record: \(error)")
            }
        }
        return problems
    }

    private func liarProblems(_ lie: Lie) async -> [String] {
        do {
            let answer = answer
            let count = try await rows { (request, caller) async throws(UpstreamFailure) in
                lie.answer(try await answer(request, caller))
            }.count
            return ["\(lie.words) is taken for \(count) rows"]
        } catch is MirrorRefusal {
            return []
        } catch {
            return ["\(lie.words) is reported as \(error), not as a refusal"]
        }
    }

    private func failureProblems() async -> [String] {
        var problems: [String] = []
        for status in [401, 403, 429, 500, 503] {
            do {
                _ = try await rows { (request, _) async throws(UpstreamFailure) in
                    UpstreamResponse(address: request.address, status: status, fields: [:], body: [])
                }
                problems.append("the status \(status) is taken for rows")
            } catch {
                if !(error is PorticoError || error is UpstreamFailure) {
                    problems.append("the status \(status) is reported as \(error)")
                }
            }
        }
        do {
            _ = try await rows { (_, _) async throws(UpstreamFailure) in
                throw UpstreamFailure(.timedOut, of: "upstream")
            }
            problems.append("a timeout is taken for rows")
        } catch {
            if !(error is PorticoError || error is UpstreamFailure) {
                problems.append("a timeout is reported as \(error)")
            }
        }
        return problems
    }

    private static let lies = [
        Lie(words: "a login page with the status 200") {
            UpstreamResponse(
                address: $0.address, status: 200, fields: ["Content-Type": "text/html; charset=utf-8"],
                body: Array("<html><form action=\"login\"></form></html>".utf8))
        },
        Lie(words: "a redirect to a login page") {
            UpstreamResponse(address: $0.address, status: 302, fields: ["Location": "/login"], body: [])
        },
        Lie(words: "a login page that says to be a document") {
            UpstreamResponse(
                address: $0.address, status: 200, fields: $0.fields,
                body: Array("<html><form action=\"login\"></form></html>".utf8))
        },
        Lie(words: "another media type") {
            UpstreamResponse(
                address: $0.address, status: 200, fields: ["Content-Type": "application/octet-stream"], body: $0.body)
        },
        Lie(words: "an answer without a media type") {
            UpstreamResponse(address: $0.address, status: 200, fields: [:], body: $0.body)
        },
        Lie(words: "an empty body") {
            UpstreamResponse(address: $0.address, status: 200, fields: $0.fields, body: [])
        },
        Lie(words: "a document that is cut off") {
            UpstreamResponse(
                address: $0.address, status: 200, fields: $0.fields, body: Array($0.body.prefix($0.body.count * 2 / 3)))
        },
    ]
}
