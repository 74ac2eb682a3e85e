import AdapterKit

/// What is wrong with a shop while it runs.
enum Fault: Sendable {
    case none, answersText, throwsOddly, changes, varies, answersAnything, samplesMisfit, samplesTwice, listsNowhere
    case settlesVaryingly, settlesStrangely, settlesOddly

    @TaskLocal static var current = Fault.none
}

enum FaultyShop: AdapterModule {
    static let name = Shop.name

    static func declare(_ configuration: AdapterConfiguration) -> AdapterDeclaration { Shop.declare(configuration) }
    static func make(_ configuration: AdapterConfiguration) -> any Adapter { FaultyAdapter() }
}

private struct FaultyAdapter: Adapter {
    private struct Odd: Error {}

    private let shop = ShopAdapter()

    func handle(_ call: Call) async throws -> OperationResult {
        switch Fault.current {
        case .answersText: return .value("ten")
        case .throwsOddly: throw Odd()
        case .answersAnything where call.operation != "price": return .nothing
        case .varies: return .value(["price": .int64(Int64.random(in: Int64.min...Int64.max))])
        case .changes: try await call.records.create(["title": "More"], in: Shop.goods.name)
        default: break
        }
        return try await shop.handle(call)
    }

    func resolve(_ conflict: RecordConflict) async throws -> ConflictResolution {
        switch Fault.current {
        case .settlesVaryingly: .change(["price": .int64(Int64.random(in: 0...1_000))])
        case .settlesStrangely: .change(["colour": "green"])
        case .settlesOddly: throw Odd()
        default: try await shop.resolve(conflict)
        }
    }

    func sampleRecords() -> [SampleRecords] {
        switch Fault.current {
        case .samplesMisfit: [SampleRecords("goods", [["id": "tea", "title": 7]])]
        case .samplesTwice: [SampleRecords("goods", Array(repeating: ["id": "tea", "title": "Tea"], count: 2))]
        default: shop.sampleRecords()
        }
    }

    func frontPageEntries() -> [FrontPageEntry] {
        Fault.current == .listsNowhere
            ? [FrontPageEntry(title: "Tea", path: "tea", summary: "Tea.")] : shop.frontPageEntries()
    }
}
