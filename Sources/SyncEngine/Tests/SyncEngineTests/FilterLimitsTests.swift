import AdapterKit
import RecordStorage
import Testing

@Suite struct FilterLimitsTests {
    private let limits = FilterLimits(depth: 3, terms: 4, values: 2)

    @Test(arguments: [
        Filter.not(.not(.isNull("a"))), .all([.isNull("a"), .isNull("b"), .isNull("c")]), .oneOf("a", [1, 2]),
        .related("a", "b", .isNull("c")),
    ])
    func `a filter within its limits is let through`(filter: Filter) throws {
        try limits.check(filter)
    }

    @Test(arguments: [
        Filter.not(.not(.not(.isNull("a")))), .all(Array(repeating: .isNull("a"), count: 4)), .oneOf("a", [1, 2, 3]),
        .any([.oneOf("a", [1, 2]), .search(words: ["x"])]), .related("a", "b", .related("c", "d", .not(.always))),
    ])
    func `a filter beyond one of them is refused`(filter: Filter) {
        let error = #expect(throws: PorticoError.self) { try limits.check(filter) }
        #expect(error?.code == .requestLimitExceeded)
    }
}
