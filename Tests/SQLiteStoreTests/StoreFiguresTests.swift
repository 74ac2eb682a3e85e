import AdapterKit
import RecordStorage
import Telemetry
import Testing

@testable import SQLiteStore

@Suite struct StoreFiguresTests {
    @Test func `every group commit is counted with its size and its time`() async throws {
        let directory = try TemporaryDirectory()
        let store = try directory.store()
        let records = try await Things.install(Things.declaration([Field("name", .string)]), in: store)
        for number in 0..<3 {
            _ = try await records.apply([RecordChange("things", .create(nil, ["name": .string("\(number)")]))])
        }
        let figures = store.figures
        #expect(figures.committed >= 3 && figures.refused == 0)
        #expect(figures.commitDurations.cumulativeCounts.last == figures.groupSizes.cumulativeCounts.last)
        #expect(figures.groupSizes.cumulativeCounts.last == figures.commits && figures.commits > 0)
        #expect(figures.groupSizes.sum == Double(figures.committed))
        await store.close()
    }
}
