import AdapterKit
import RecordStorage
import Testing

@Test func `random ids are UUIDs of version 4, each another one`() throws {
    let ids = (0..<100).map { _ in RandomRecordIDs().next().text }
    #expect(Set(ids).count == ids.count)
    let form = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
    #expect(ids.allSatisfy { $0.wholeMatch(of: form) != nil })
}
