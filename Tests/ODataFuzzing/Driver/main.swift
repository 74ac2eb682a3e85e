import AdapterKit
import ODataEngine
import ODataFuzzing
import ODataLanguage
import ODataModel

/// `odata-fuzz [--requests N] [--seed S]`: generated requests through the parser and the planner. Whatever they are, they
/// are answered or refused; a refusal points into the request; one that is read is read the same again.
struct FuzzRun {
    var requests = 100_000
    var seed: UInt64 = 4012
    private(set) var planned = 0
    private(set) var refused = 0
    private(set) var malformed = 0
    private(set) var elsewhere = 0

    private let tables: ServiceTables

    init(_ arguments: [String]) throws {
        tables = try ServiceTables(service: "fuzzed", model: EntityDataModel(csdl: Array(FuzzedService.csdl.utf8)))
        for (name, value) in zip(arguments, arguments.dropFirst()) {
            switch name {
            case "--requests": requests = Int(value) ?? requests
            case "--seed": seed = UInt64(value) ?? seed
            default: continue
            }
        }
    }

    mutating func run() throws {
        var generator = RequestGenerator(seed: seed)
        for number in 0..<requests {
            let request = generator.next()
            do { try ask(request, .v4) } catch {
                print("request \(number) of seed \(seed): \(error): \(request)")
                throw error
            }
            if number % 4 == 0 { _ = try? RequestTarget(request, version: .v2) }
        }
    }

    private mutating func ask(_ request: String, _ version: LanguageVersion) throws {
        let target: RequestTarget
        do throws(SyntaxError) { target = try RequestTarget(request, version: version) } catch {
            guard (0...request.utf8.count).contains(error.position) else { throw Mistake("it points beyond the end") }
            malformed += 1
            return
        }
        guard case .path(let segments) = target.resource, let set = segments.first?.name?.name, tables[set] != nil
        else {
            elsewhere += 1
            return
        }
        var plans: (QueryPlan, QueryPlan)?
        do throws(QueryProblem) {
            let query = EntityQuery(
                set, options: target.options, pageSize: 100, now: WireDate(secondsSinceReferenceDate: 0))
            let (first, second) = (try query.plan(in: tables), try query.plan(in: tables))
            planned += 1
            plans = (first, second)
        } catch {
            refused += 1
            return
        }
        guard let (first, second) = plans, asked(by: first) == asked(by: second) else {
            throw Mistake("it is planned differently the second time")
        }
    }

    /// The queries that a plan runs, with rows of ones as results.
    private func asked(by plan: QueryPlan) -> [Relation] {
        let records = RowOfOnes()
        _ = try? plan.page(at: records)
        _ = try? plan.count(at: records)
        return records.asked
    }

    struct Mistake: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }
}

/// Records that return one row for every query.
final class RowOfOnes: RecordSnapshot {
    private(set) var asked: [Relation] = []
    var position: Revision { Revision(0) }

    func record(_ id: RecordID, in entity: EntityName) throws -> Record? { nil }

    func query(_ query: Query, in entity: EntityName) throws -> RecordPage { RecordPage(records: [], next: nil) }

    func count(_ filter: Filter?, in entity: EntityName) throws -> Int { 0 }

    func rows(_ relation: Relation, _ receive: (any RowValues) throws -> Void) throws {
        asked.append(relation)
        try receive(Row(count: relation.columns.count))
    }

    private struct Row: RowValues {
        let count: Int
        subscript(column: Int) -> WireValue { 1 }
        func withText<Result>(_ column: Int, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result?
        {
            nil
        }
    }
}

var run = try FuzzRun(Array(CommandLine.arguments.dropFirst()))
try run.run()
print(
    "\(run.requests) requests: \(run.planned) planned, \(run.refused) refused by the model, \(run.malformed) by the",
    "grammar, \(run.elsewhere) of something else")
guard run.planned * 8 > run.requests else { fatalError("hardly any request made sense") }
