import AdapterKit
import RecordStorage
import Testing

@Suite struct TotalOrderTests {
    private let entity = Entity(
        "e", summary: "", key: EntityKey("id"),
        fields: [Field("id", .string), Field("a", .string), Field("b", .integer), Field("list", .list(of: .string))])

    @Test func `the key comes last, in the direction of the criterion before it`() throws {
        #expect(try entity.totalOrder([]) == [SortKey("id")])
        #expect(
            try entity.totalOrder([SortKey("b"), SortKey("a", descending: true)])
                == [SortKey("b"), SortKey("a", descending: true), SortKey("id", descending: true)])
    }

    @Test func `nothing after the key counts, nor a field named again`() throws {
        let asked = [SortKey("a"), SortKey("a", descending: true), SortKey("id"), SortKey("b")]
        #expect(try entity.totalOrder(asked) == [SortKey("a"), SortKey("id")])
    }

    @Test(arguments: ["list", "other"] as [FieldName])
    func `a field without an order is refused`(field: FieldName) {
        #expect(throws: PorticoError.self) { try entity.totalOrder([SortKey(field)]) }
    }
}
